/* The settings that cairn init gives a new server, and the steps that create it. */
#ifndef CAIRN_CLI_INIT_H
#define CAIRN_CLI_INIT_H

#include "base/buf.h"
#include "cas/service/keys.h"

#include <sys/types.h>

enum { INIT_PATH_BYTES = 4200, INIT_LISTEN_BYTES = 64, INIT_PORT_BYTES = 8 };

/** Names used by the service of the Debian package. */
#define INIT_SERVICE_USER     "cairn"
#define INIT_SERVICE_SETTINGS "/etc/cairn/cairnd.conf"
#define INIT_SERVICE_DATA     "/var/lib/cairn"
/** The issuer of the tokens that this server gives out for API keys. */
#define INIT_ISSUER "cairn"

/** The address for clients, and the one where the daemon listens. */
struct init_address {
	char url[INIT_PATH_BYTES];      /* without a final slash */
	char listen[INIT_LISTEN_BYTES]; /* value of the setting "listen" */
	unsigned port;                  /* port where the daemon listens */
	bool https;
	bool loopback;     /* only this machine can reach it */
	bool behind_proxy; /* a proxy on this machine serves HTTPS and forwards requests */
};

/** Reads an address: http://HOST[:PORT], or https://HOST[:PORT][/PATH].
 * @param has_certificate  the daemon serves HTTPS itself; else an https address is a proxy's
 * @return CAIRN_OK; CAIRN_E_USAGE the address is not valid (init.url) */
CAIRN_MUST_USE enum cairn_status init_address_read(const char *url, bool has_certificate, struct init_address *out,
						   struct cairn_diag *diag);

/** The folders and files to create, and their owner. */
struct init_place {
	bool is_service; /* true: the package's service; false: a folder of the user's */
	uid_t uid;       /* owner of the keys and the data */
	gid_t gid;
	char settings[INIT_PATH_BYTES], keys[INIT_PATH_BYTES], data_dir[INIT_PATH_BYTES];
};

/** The requested settings. Borrowed. */
struct init_wish {
	const char *user;
	struct init_address address;
	char tls_certificate[INIT_PATH_BYTES], tls_key[INIT_PATH_BYTES]; /* absolute paths; empty: none */
	bool repositories_are_public;
};

/** The settings file while it is written: FILE.part, until it is complete and durable. */
struct init_settings {
	int fd;
	const char *path; /* borrowed from the place */
	char part[INIT_PATH_BYTES + 8];
	mode_t mode; /* permissions, owner and group of the file */
	uid_t uid;
	gid_t gid;
	struct cairn_buf text;
};

/** Checks that the daemon could read these settings from a file. Call before creating anything. @return CAIRN_OK;
 * CAIRN_E_USAGE: a value cannot be written into such a file, or is too long for a line of it (init.path) */
CAIRN_MUST_USE enum cairn_status init_settings_check(const struct init_place *place, const struct init_wish *wish,
						     struct cairn_diag *diag);
/** Prepares the settings file: reads an existing one, and replaces comments by the new settings. Begins FILE.part, so
 * that an unwritable folder is noticed before anything is created. Overwrites the FILE.part of an interrupted command.
 * @return CAIRN_OK; CAIRN_E_CONFLICT: the file has settings already, or another command writes FILE.part
 * (init.settings); CAIRN_E_USAGE: a path cannot be written into such a file (init.path); CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status init_settings_open(struct init_settings *s, const struct init_place *place,
						    const struct init_wish *wish, struct cairn_diag *diag);
/** Writes the file durably, and gives it its name. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO (init.settings) */
CAIRN_MUST_USE enum cairn_status init_settings_commit(struct init_settings *s, struct cairn_diag *diag);
/** Warns of each variable CAIRN_NAME that differs from its setting, because the daemon prefers the variable. */
void init_settings_warn(const struct init_place *place, const struct init_wish *wish);
/** Removes the file if it was not committed. For CLEANUP(). */
void init_settings_fini(struct init_settings *s);

/** Tells which things were created, and which existed before. */
struct init_made {
	bool token_key, user;
	char api_key[CAIRN_KEY_TEXT_BYTES];
};

/** Creates, as their owner, the things that only the owner may create: the key for tokens, the data folder with its
 * index, the user, and an API key for the user. An existing token key or user stays. @return CAIRN_OK;
 * CAIRN_E_CONFLICT: a daemon has the folder open (data_dir.in_use); CAIRN_E_USAGE: the user's name is reserved, or a
 * key is not valid; CAIRN_E_DENIED: the daemon could not read a TLS file (init.tls); as cairn_data_dir_open(),
 * cairn_hub_add_account(), cairn_cas_make_key() */
CAIRN_MUST_USE enum cairn_status init_make(const struct init_place *place, const struct init_wish *wish,
					   struct init_made *made, struct cairn_diag *diag);

#endif
