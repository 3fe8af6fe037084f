/* DIR/store and DIR/index: where the objects and the index of a data folder are when they are not files of it, and by
 * what that place knows the folder. Made at the first start, so that nobody who opens the folder later takes them for
 * lost. */
#ifndef CAIRN_DATA_DIR_ELSEWHERE_H
#define CAIRN_DATA_DIR_ELSEWHERE_H

#include "data_dir/secret.h"

enum { ELSEWHERE_URL_BYTES = 1024, ELSEWHERE_OWNER_BYTES = 32 + 1 };

enum elsewhere_what { ELSEWHERE_STORE, ELSEWHERE_INDEX };

/** Plain value. */
struct elsewhere {
	enum elsewhere_what what;
	char url[ELSEWHERE_URL_BYTES]; /* empty: it is in the folder */
	char owner[ELSEWHERE_OWNER_BYTES];
};

/** @param path  of the data folder
 *  @return CAIRN_OK also when there is none; CAIRN_E_FORMAT, CAIRN_E_IO (data_dir.store, data_dir.index) */
CAIRN_MUST_USE enum cairn_status elsewhere_read(struct elsewhere *out, enum elsewhere_what what, const char *path,
						struct cairn_diag *diag);

/** Give one that was not there when it was read a URL and an owner.
 *  @param shared  NULL: a new owner; else the one of all folders with this secret
 *  @return CAIRN_OK; CAIRN_E_USAGE the URL is too long (store.url, index.url); CAIRN_E_IO no name could be made for it
 *          (data_dir.store, data_dir.index) */
CAIRN_MUST_USE enum cairn_status elsewhere_new(struct elsewhere *out, const char *url,
					       const struct cairn_secret *shared, struct cairn_diag *diag);

/** The same place by another URL. @return CAIRN_OK; CAIRN_E_USAGE the URL is too long (store.url, index.url) */
CAIRN_MUST_USE enum cairn_status elsewhere_move(struct elsewhere *e, const char *url, struct cairn_diag *diag);

/** Keep it, durably. @return CAIRN_OK; CAIRN_E_IO (data_dir.store, data_dir.index) */
CAIRN_MUST_USE enum cairn_status elsewhere_write(const struct elsewhere *e, const char *path, struct cairn_diag *diag);

/** Forget it: the place was not taken. */
void elsewhere_remove(const struct elsewhere *e, const char *path);

#endif
