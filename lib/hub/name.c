#include "hub/name.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

bool cairn_hub_name_is_good(const char *name)
{
	static const char GOOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	static const char INSIDE[] = "-.";
	size_t len = strlen(name);
	return len > 0 && len <= CAIRN_HUB_NAME_MAX && strspn(name, GOOD) == len && !strchr(INSIDE, name[0]) &&
	       !strchr(INSIDE, name[len - 1]) && !strstr(name, "--") && !strstr(name, "..");
}

bool cairn_hub_name_is_reserved(const char *name)
{
	static const char *const RESERVED[] = {
		/* what the daemon serves, and what older clients ask for */
		"api", "v1", "v2", "health", "ready", "metrics", "shards", "shard", "xorbs", "xorb", "chunks", "chunk",
		"reconstructions", "reconstruction",
		/* kinds of repositories, and what is to come */
		"models", "datasets", "spaces", "kernels", "buckets", "lfs", "oauth", "login", "logout", "settings",
		"new", "search", "storage", "admin", "static", "assets", "docs", "me", "operator",
		/* owners of files by number: hub/NUMBER */
		"hub",
		/* the public hub's own */
		"blog", "chat", "collections", "enterprise", "inference", "jobs", "join", "learn", "notifications",
		"organizations", "papers", "posts", "pricing", "tasks", "users", NULL};
	for (const char *const *reserved = RESERVED; *reserved; reserved++)
		if (strcasecmp(name, *reserved) == 0)
			return true;
	return false;
}
