/* Names, paths, revisions in addresses, and names of branches and tags. Each split of an address is the beginning of
 * the next longer one. */
#include "fuzz/fuzz.h"
#include "hub/name.h"
#include "hub/path.h"
#include "hub/revision.h"

#include <string.h>
#include <strings.h>

enum { SEGMENTS = 9 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP(fuzz_textp) char *text = fuzz_text(bytes, len);
	char revision[CAIRN_HUB_REVISION_MAX + 1], path[CAIRN_INDEX_PATH_MAX + 1],
		before[CAIRN_HUB_REVISION_MAX + 1] = "";
	struct cairn_hub_ref_name ref;
	const char *fault = cairn_hub_file_fault(text);
	fuzz_must(fault || !cairn_hub_path_fault(text));
	fuzz_must(fault ||
		  (strcasecmp(text, ".git") != 0 && strncasecmp(text, ".git/", 5) != 0 && !strstr(text, "/.git/")));
	if (cairn_hub_name_is_good(text)) /* a valid name can be part of an address, and is a path of one segment */
		fuzz_must(!strpbrk(text, "/%?# ") && !cairn_hub_path_fault(text) && strlen(text) <= CAIRN_HUB_NAME_MAX);
	(void)cairn_hub_name_is_reserved(text);
	cairn_hub_ref_name(text, &ref);
	fuzz_must(ref.sure || (ref.kind == CAIRN_INDEX_BRANCH && ref.name == text));
	if (cairn_hub_ref_is_good(text))
		fuzz_must(!ref.sure && strlen(text) <= CAIRN_INDEX_REF_NAME_MAX);
	for (unsigned n = 1; n < SEGMENTS; n++) {
		if (!cairn_hub_split_revision(text, n, revision, path))
			continue;
		fuzz_must(revision[0] && strlen(revision) <= CAIRN_HUB_REVISION_MAX &&
			  strlen(path) <= CAIRN_INDEX_PATH_MAX);
		fuzz_must(strncmp(revision, before, strlen(before)) == 0);
		(void)memccpy(before, revision, '\0', sizeof(before));
	}
	return 0;
}
