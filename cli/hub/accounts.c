#include "cli/hub/accounts.h"

#include <stdio.h>
#include <string.h>

enum { ACCOUNTS_BODY_BYTES_MAX = 4096, ACCOUNTS_NAME_MAX = 96 };

static bool accounts_is_name(const struct accounts_args *args, const char *name, int *end)
{
	static const char GOOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	size_t len = strlen(name);
	*end = len > 0 && len <= ACCOUNTS_NAME_MAX && strspn(name, GOOD) == len
		       ? CLI_EXIT_OK
		       : cli_usage_error(args->command, "\"%s\" cannot be the name of an account", name);
	return *end == CLI_EXIT_OK;
}

static bool accounts_show_nothing(const struct cairn_json *json)
{
	return cairn_json_is_object(json);
}

static bool accounts_show_added(const struct cairn_json *json)
{
	const char *name = cairn_json_text_of(json, "name");
	if (name)
		(void)printf("made %s\n", name);
	return name != NULL;
}

static bool accounts_show_key(const struct cairn_json *json)
{
	const char *key = cairn_json_text_of(json, "key");
	if (key)
		(void)puts(key);
	return key != NULL;
}

static bool accounts_show_changed(const struct cairn_json *json)
{
	bool changed = false;
	if (!cairn_json_bool_of(json, "changed", &changed))
		return false;
	(void)puts(changed ? "changed" : "was so already");
	return true;
}

static bool accounts_show_one(const struct cairn_json *json)
{
	uint64_t created;
	bool disabled = false;
	char when[ADMIN_TIME_BYTES];
	const char *name = cairn_json_text_of(json, "name"), *fullname = cairn_json_text_of(json, "fullname");
	if (!name || !fullname || !admin_number(json, "created", &created) ||
	    !cairn_json_bool_of(json, "disabled", &disabled))
		return false;
	(void)printf("%s %-8s ", admin_time(when, (int64_t)created), disabled ? "disabled" : "enabled");
	admin_print_text(name);
	(void)fputs(" ", stdout);
	admin_print_text(fullname);
	(void)fputs("\n", stdout);
	return true;
}

static bool accounts_show_kind(const struct cairn_json *json, const char *wanted)
{
	const struct cairn_json *accounts = cairn_json_get(json, "accounts");
	if (!cairn_json_is_array(accounts))
		return false;
	for (size_t i = 0; i < cairn_json_count(accounts); i++) {
		const struct cairn_json *account = cairn_json_at(accounts, i);
		const char *kind = cairn_json_text_of(account, "kind");
		if (!kind || (strcmp(kind, wanted) == 0 && !accounts_show_one(account)))
			return false;
	}
	return true;
}

static bool accounts_show_users(const struct cairn_json *json)
{
	return accounts_show_kind(json, "user");
}

static bool accounts_show_organisations(const struct cairn_json *json)
{
	return accounts_show_kind(json, "organisation");
}

static bool accounts_show_members(const struct cairn_json *json)
{
	const struct cairn_json *members = cairn_json_get(json, "members");
	if (!cairn_json_is_array(members))
		return false;
	for (size_t i = 0; i < cairn_json_count(members); i++) {
		const struct cairn_json *member = cairn_json_at(members, i);
		const char *name = cairn_json_text_of(member, "name"), *role = cairn_json_text_of(member, "role");
		if (!name || !role)
			return false;
		admin_print_text(role);
		(void)fputs(" ", stdout);
		admin_print_text(name);
		(void)fputs("\n", stdout);
	}
	return true;
}

static int accounts_ask(const struct accounts_args *args, const char *subject, enum client_method method,
			const char *path, const char *body, bool (*show)(const struct cairn_json *json))
{
	const struct admin_call call = {.server = &args->server,
					.subject = subject,
					.method = method,
					.path = path,
					.body = body,
					.json = args->json && !args->quiet,
					.show = args->quiet ? accounts_show_nothing : show};
	return admin_ask(&call);
}

int accounts_add(const struct accounts_args *args, const char *kind, const char *name)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(ACCOUNTS_BODY_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&body);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "kind", kind);
	cairn_json_put_text(&w, "name", name);
	if (args->fullname)
		cairn_json_put_text(&w, "fullname", args->fullname);
	if (args->email)
		cairn_json_put_text(&w, "email", args->email);
	cairn_json_close(&w);
	const char *text = admin_path(&body);
	if (!text)
		return cli_usage_error(args->command, "name, --fullname and --email are too long");
	return accounts_ask(args, name, CLIENT_POST, "/v1/accounts", text, accounts_show_added);
}

int accounts_add_key(const struct accounts_args *args, const char *name)
{
	char body[ACCOUNTS_NAME_MAX * 2 + 64]; /* the server accepted the name, so it needs no escapes */
	(void)snprintf(body, sizeof(body), "{\"name\":\"%s\",\"account\":\"%s\",\"scope\":\"write\"}", name, name);
	return accounts_ask(args, name, CLIENT_POST, "/v1/keys", body, accounts_show_key);
}

int accounts_list(const struct accounts_args *args, const char *kind)
{
	return accounts_ask(args, kind, CLIENT_GET, "/v1/accounts", NULL,
			    strcmp(kind, "user") == 0 ? accounts_show_users : accounts_show_organisations);
}

int accounts_disable(const struct accounts_args *args, const char *name, bool disabled)
{
	char path[ACCOUNTS_NAME_MAX + 32];
	int end;
	if (!accounts_is_name(args, name, &end))
		return end;
	(void)snprintf(path, sizeof(path), "/v1/accounts/%s", name);
	return accounts_ask(args, name, CLIENT_POST, path, disabled ? "{\"disabled\":true}" : "{\"disabled\":false}",
			    accounts_show_changed);
}

int accounts_set_member(const struct accounts_args *args, const char *organisation, const char *user, const char *role)
{
	char path[ACCOUNTS_NAME_MAX + 32], body[ACCOUNTS_NAME_MAX + 64];
	int end;
	if (!accounts_is_name(args, organisation, &end) || !accounts_is_name(args, user, &end))
		return end;
	if (strcmp(role, "read") != 0 && strcmp(role, "write") != 0 && strcmp(role, "admin") != 0 &&
	    strcmp(role, "none") != 0)
		return cli_usage_error(args->command, "a role is read, write, admin or none, not \"%s\"", role);
	(void)snprintf(path, sizeof(path), "/v1/accounts/%s/members", organisation);
	(void)snprintf(body, sizeof(body), "{\"user\":\"%s\",\"role\":\"%s\"}", user, role);
	return accounts_ask(args, organisation, CLIENT_POST, path, body, accounts_show_changed);
}

int accounts_members(const struct accounts_args *args, const char *organisation)
{
	char path[ACCOUNTS_NAME_MAX + 32];
	int end;
	if (!accounts_is_name(args, organisation, &end))
		return end;
	(void)snprintf(path, sizeof(path), "/v1/accounts/%s/members", organisation);
	return accounts_ask(args, organisation, CLIENT_GET, path, NULL, accounts_show_members);
}
