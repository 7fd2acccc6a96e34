/* base/message_words.h - the words of a message, with what is in quotes as one word. */
#ifndef EK_BASE_MESSAGE_WORDS_H
#define EK_BASE_MESSAGE_WORDS_H

#include <string.h>

/* The next word of a text, which moves to its end; *size is 0 at the end of the text. */
static inline const char *ek__message_word(const char **text, size_t *size)
{
    const char *word = *text + strspn(*text, " ");
    const char *quote = *word == '\'' ? strchr(word + 1, '\'') : NULL;
    const char *from = quote ? quote : word;
    *text = from + strcspn(from, " ");
    *size = (size_t)(*text - word);
    return word;
}

#endif
