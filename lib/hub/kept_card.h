/* Keeps the cards of repositories in the index (index/card.h) as their README.md and config.json at the head of main
 * are. */
#ifndef CAIRN_HUB_KEPT_CARD_H
#define CAIRN_HUB_KEPT_CARD_H

#include "hub/metadata.h"
#include "hub/tree.h"

/** Reads the metadata of a git-like repository at a commit; for workers.
 *  @param[out] out  owned by the caller, also when it failed
 *  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_metadata(const struct cairn_hub *hub,
							 const struct cairn_index_repo *repo,
							 const struct cairn_index_commit *commit,
							 struct cairn_hub_metadata *out);

/** Visits the card that is kept of a repository. @return CAIRN_OK; CAIRN_E_NOT_FOUND none is kept; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_kept_card(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     void (*visit)(void *ctx, const struct cairn_index_card *card),
						     void *ctx);

/** Keeps the card of a repository as it is now, if it is not kept so already. Only its id and kind count. To be called
 * once main has other files; a failure is not reported, because cairn_hub_keep_cards() makes up for it. Waits for the
 * index's writer where there is something to keep. */
void cairn_hub_keep_card(const struct cairn_hub *hub, const struct cairn_index_repo *repo);
/** Does so if operations touch what a card is made of. */
void cairn_hub_keep_card_after(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
			       const struct cairn_index_operation *operations, uint32_t n);

/** Does the same for all repositories: those from before there were cards, and those whose daemon ended just then.
 *  @param stop  says when to end early
 *  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_keep_cards(const struct cairn_hub *hub, bool (*stop)(void *ctx), void *ctx);

#endif
