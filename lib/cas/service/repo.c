#include "cas/service/repo.h"

#include <stdio.h>
#include <string.h>

/* Letters, digits, "-", "_" and "."; not "." or "..". */
static bool repo_is_name(const char *at, size_t len)
{
	static const char GOOD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	return len > 0 && strspn(at, GOOD) >= len && strspn(at, ".") < len;
}

bool cairn_repo_full_name(char *out, size_t out_len, const char *repo)
{
	static const char *const TYPES[] = {"models/", "datasets/", "spaces/", NULL};
	const char *type = "models/", *name = repo;
	for (size_t i = 0; TYPES[i]; i++) {
		if (strncmp(repo, TYPES[i], strlen(TYPES[i])) == 0 && strchr(repo + strlen(TYPES[i]), '/')) {
			type = TYPES[i];
			name = repo + strlen(type);
		}
	}
	out[0] = '\0';
	if (*repo == '\0')
		return true;
	const char *slash = strchr(name, '/');
	if (!slash || strchr(slash + 1, '/') || !repo_is_name(name, (size_t)(slash - name)) ||
	    !repo_is_name(slash + 1, strlen(slash + 1)))
		return false;
	int n = snprintf(out, out_len, "%s%s", type, name);
	return n >= 0 && (size_t)n < out_len;
}
