/* Checks the metadata at the head of a README.md, as far as a hub does. Pure. */
#ifndef CAIRN_HUB_CARD_H
#define CAIRN_HUB_CARD_H

/** The faults of a README.md. Static texts, for people. */
struct cairn_hub_card {
	const char *error;   /* NULL: none */
	const char *warning; /* NULL: none */
};

/** Checks the lines between "---" and "---" that a README.md may begin with: "license" must name one or more known
 * licenses, and "model-index" must be a list. Other lines are not checked. */
void cairn_hub_card_judge(struct cairn_hub_card *out, const char *text);

#endif
