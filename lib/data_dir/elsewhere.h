/* Records in DIR/store and DIR/index: the URL of objects or an index outside the data folder, and the owner's name
 * there. Written at the first start, so that programs that open the folder later do not report them as lost. */
#ifndef CAIRN_DATA_DIR_ELSEWHERE_H
#define CAIRN_DATA_DIR_ELSEWHERE_H

#include "data_dir/secret.h"

enum { ELSEWHERE_URL_BYTES = 1024, ELSEWHERE_OWNER_BYTES = 32 + 1 };

enum elsewhere_what { ELSEWHERE_STORE, ELSEWHERE_INDEX };

/** A record. Plain value. */
struct elsewhere {
	enum elsewhere_what what;
	char url[ELSEWHERE_URL_BYTES]; /* empty: objects or index are in the folder */
	char owner[ELSEWHERE_OWNER_BYTES];
};

/** Reads a record. @param path  path of the data folder
 * @return CAIRN_OK, also if there is none; CAIRN_E_FORMAT, CAIRN_E_IO (data_dir.store, data_dir.index) */
CAIRN_MUST_USE enum cairn_status elsewhere_read(struct elsewhere *out, enum elsewhere_what what, const char *path,
						struct cairn_diag *diag);

/** Fills a record that did not exist with a URL and an owner.
 * @param shared  NULL: a new owner; else the common owner of all folders with this secret
 * @return CAIRN_OK; CAIRN_E_USAGE the URL is too long (store.url, index.url); CAIRN_E_IO the owner's name could not be
 *         made (data_dir.store, data_dir.index) */
CAIRN_MUST_USE enum cairn_status elsewhere_new(struct elsewhere *out, const char *url,
					       const struct cairn_secret *shared, struct cairn_diag *diag);

/** Changes the URL of an unchanged store or index. @return CAIRN_OK; CAIRN_E_USAGE too long (store.url, index.url) */
CAIRN_MUST_USE enum cairn_status elsewhere_move(struct elsewhere *e, const char *url, struct cairn_diag *diag);

/** Writes a record durably. @return CAIRN_OK; CAIRN_E_IO (data_dir.store, data_dir.index) */
CAIRN_MUST_USE enum cairn_status elsewhere_write(const struct elsewhere *e, const char *path, struct cairn_diag *diag);

/** Removes a record whose store or index was not claimed. */
void elsewhere_remove(const struct elsewhere *e, const char *path);

#endif
