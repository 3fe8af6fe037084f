/* Sessions of browsers, for several daemons that act as one Cairn (index/daemon/session.h). */
#ifndef CAIRN_CAS_SERVICE_SESSION_H
#define CAIRN_CAS_SERVICE_SESSION_H

#include "cas/cas.h"
#include "index/daemon/session.h"

/** Does the index store sessions? Otherwise the caller does. */
bool cairn_cas_keeps_sessions(struct cairn_cas *cas);

/** Finds a session in the index: on a worker. @return as cairn_index_session(), CAIRN_E_BUSY with diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_session(struct cairn_cas *cas,
						   const uint8_t digest[static CAIRN_SHA256_BYTES],
						   struct cairn_index_session *out, struct cairn_diag *diag);

/** Adds a session. @param n_max, n_of_one_max  as in struct cairn_index_begin_session
 * @return CAIRN_OK; as a write, with diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_begin_session(struct cairn_cas *cas,
							 const struct cairn_index_session *session, uint32_t n_max,
							 uint32_t n_of_one_max, struct cairn_diag *diag);

/** Ends a session. @return as cairn_cas_begin_session(); CAIRN_OK also if there was none */
CAIRN_MUST_USE enum cairn_status cairn_cas_end_session(struct cairn_cas *cas,
						       const uint8_t digest[static CAIRN_SHA256_BYTES],
						       struct cairn_diag *diag);

#endif
