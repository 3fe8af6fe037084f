/* Finds the chunks of a damaged object that can still be read. */
#include "cas/check/check_run.h"
#include "cas/object/mend.h"

#include <string.h>

uint32_t check_survey(struct check_run *run, const struct cairn_index_xorb *row, const struct cairn_chunk_list *list,
		      struct check_bad *bad)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	CLEANUP(cairn_codec_freep) struct cairn_codec *codec = cairn_codec_new();
	uint32_t n_sound = 0;
	bad->hash = row->hash;
	memset(bad->damaged, 0xff, sizeof(bad->damaged));
	if (!codec || cas_open_copy(run->cas, row, 0, &object) != CAIRN_OK)
		return 0;
	for (uint32_t i = 0; i < list->n; i++) {
		if (cas_read_chunk(object, codec, list, i, run->block, NULL) != CAIRN_OK)
			continue;
		bad->damaged[i / 8] &= (uint8_t) ~(1U << i % 8);
		n_sound++;
	}
	return n_sound;
}
