/* The viewer's page in its two parts. The page without a document is the two together: it finds its document empty and
 * requests the document of its address. */
#include "view/shell.h"

#include "evenkeel/view.h"

const char *ek__view_shell_before(size_t *size)
{
    *size = ek__view_page_document;
    return (const char *)ek__view_page;
}

const char *ek__view_shell_after(size_t *size)
{
    *size = ek__view_page_size - ek__view_page_document;
    return (const char *)ek__view_page + ek__view_page_document;
}

const char *ek_view_shell(size_t *size)
{
    *size = ek__view_page_size;
    return (const char *)ek__view_page;
}
