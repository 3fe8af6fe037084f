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
		/* paths that the daemon serves, or that older clients request */
		"api", "v1", "v2", "health", "ready", "metrics", "shards", "shard", "xorbs", "xorb", "chunks", "chunk",
		"reconstructions", "reconstruction",
		/* kinds of repositories, and paths reserved for the future */
		"models", "datasets", "spaces", "kernels", "buckets", "lfs", "oauth", "login", "logout", "settings",
		"new", "search", "storage", "admin", "static", "assets", "docs", "me", "operator",
		/* owners of files by number: hub/NUMBER */
		"hub",
		/* names of the public hub */
		"blog", "chat", "collections", "enterprise", "inference", "jobs", "join", "learn", "notifications",
		"organizations", "papers", "posts", "pricing", "tasks", "users", NULL};
	for (const char *const *reserved = RESERVED; *reserved; reserved++)
		if (strcasecmp(name, *reserved) == 0)
			return true;
	return false;
}
