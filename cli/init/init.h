/* cairn init: what a new server gets, and the steps that make it. */
#ifndef CAIRN_CLI_INIT_H
#define CAIRN_CLI_INIT_H

#include "base/buf.h"
#include "cas/keys.h"

#include <sys/types.h>

enum { INIT_PATH_BYTES = 4200, INIT_LISTEN_BYTES = 64, INIT_PORT_BYTES = 8 };

/** What the service of the Debian package has. */
#define INIT_SERVICE_USER     "cairn"
#define INIT_SERVICE_SETTINGS "/etc/cairn/cairnd.conf"
#define INIT_SERVICE_DATA     "/var/lib/cairn"
/** Who signs the tokens that this server gives for API keys. */
#define INIT_ISSUER "cairn"

/** The address that clients type, and where the daemon listens for them. */
struct init_address {
	char url[INIT_PATH_BYTES];      /* without a slash at its end */
	char listen[INIT_LISTEN_BYTES]; /* the setting "listen" */
	unsigned port;                  /* that the daemon listens on */
	bool https;
	bool loopback;     /* only this machine reaches it */
	bool behind_proxy; /* a proxy on this machine serves HTTPS and passes requests on */
};

/**
 * Read an address: http://HOST[:PORT], or https://HOST[:PORT][/PATH].
 * @param has_certificate  the daemon serves HTTPS itself; without one, an https address is a proxy's
 * @return CAIRN_OK; CAIRN_E_USAGE it is no such address (init.url)
 */
CAIRN_MUST_USE enum cairn_status init_address_read(const char *url, bool has_certificate, struct init_address *out,
						   struct cairn_diag *diag);

/** Where everything goes, and whose it is. */
struct init_place {
	bool is_service; /* of the package; else a folder of one's own */
	uid_t uid;       /* owner of keys and data */
	gid_t gid;
	char settings[INIT_PATH_BYTES], keys[INIT_PATH_BYTES], data_dir[INIT_PATH_BYTES];
};

/** What is asked for. Borrowed. */
struct init_wish {
	const char *user;
	struct init_address address;
	char tls_certificate[INIT_PATH_BYTES], tls_key[INIT_PATH_BYTES]; /* absolute; empty: none */
	bool repositories_are_public;
};

/** The file of settings on its way: FILE.part, until it is complete and durable. */
struct init_settings {
	int fd;
	const char *path; /* borrowed from the place */
	char part[INIT_PATH_BYTES + 8];
	mode_t mode; /* of the file, as its owner and group */
	uid_t uid;
	gid_t gid;
	struct cairn_buf text;
};

/**
 * Can the daemon read these settings from a file? To be asked before anything is made.
 * @return CAIRN_OK; CAIRN_E_USAGE a value cannot be written into such a file, or is too long for it (init.path)
 */
CAIRN_MUST_USE enum cairn_status init_settings_check(const struct init_place *place, const struct init_wish *wish,
						     struct cairn_diag *diag);
/**
 * Prepare the file of settings: read the one that is there, if any, and put the new settings in place of their
 * comments. Begins FILE.part, so that a folder which takes no file is found out before anything is made. A FILE.part
 * that an interrupted command left is taken over.
 * @return CAIRN_OK; CAIRN_E_CONFLICT the file has settings already, or another command writes FILE.part
 * (init.settings); CAIRN_E_USAGE a path cannot be written into such a file (init.path); CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status init_settings_open(struct init_settings *s, const struct init_place *place,
						    const struct init_wish *wish, struct cairn_diag *diag);
/** Write it, make it durable, and give it its name. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO (init.settings) */
CAIRN_MUST_USE enum cairn_status init_settings_commit(struct init_settings *s, struct cairn_diag *diag);
/** Warn of each variable CAIRN_NAME that has another value than the setting: to the daemon it counts for more. */
void init_settings_warn(const struct init_place *place, const struct init_wish *wish);
/** For CLEANUP(): nothing is left of a file that was not committed. */
void init_settings_fini(struct init_settings *s);

/** Which things were made, and which were there already. */
struct init_made {
	bool token_key, user;
	char api_key[CAIRN_KEY_TEXT_BYTES];
};

/**
 * Make what only the owner may make, as the owner: the key for tokens, the data folder with its index, the user, and an
 * API key for them. A token key or a user that is there already stays.
 * @return CAIRN_OK; CAIRN_E_CONFLICT a daemon has the folder open (data_dir.in_use); CAIRN_E_USAGE the name of the user
 *         is reserved, or a key is not valid; CAIRN_E_DENIED the daemon could not read a file of TLS (init.tls); as
 *         cairn_data_dir_open(), cairn_hub_add_account(), cairn_cas_make_key()
 */
CAIRN_MUST_USE enum cairn_status init_make(const struct init_place *place, const struct init_wish *wish,
					   struct init_made *made, struct cairn_diag *diag);

#endif
