/* Converts the colours of roles from OKLCH to sRGB. The page's web/colors.js does the same; tests/web/colors.test.js
 * compares the two. */
#include "report/role_colors.h"

#include <assert.h>
#include <math.h>

#include "evenkeel/estimate.h"
#include "figures/memory_figures.h"

#define PI 3.14159265358979323846
static const double MIDDLE = 0.62, DARK_SCALE = 0.75; /* lightness on a dark page */
static const double CHUNK_SPREAD = 0.14, LIGHTEST = 0.8;

const ek__oklch ek__role_color[EK_N_VIEW_TYPES] = {
    [EK_VIEW_OTHER] = {0.66, 0.02, 260},
    [EK_VIEW_COMPUTING] = {0.62, 0.13, 250},
    [EK_VIEW_COMMUNICATION] = {0.66, 0.16, 50},
    [EK_VIEW_COMMUNICATION_TASK] = {0.75, 0.12, 65},
    [EK_VIEW_COPY] = {0.58, 0.13, 320},
    [EK_VIEW_SET] = {0.68, 0.1, 335},
    [EK_VIEW_WAIT] = {0.74, 0.05, 95},
    [EK_VIEW_HOST_FRAMEWORK] = {0.64, 0.1, 175},
    [EK_VIEW_HOST_RUNTIME] = {0.55, 0.09, 145},
    [EK_VIEW_HOST_PYTHON] = {0.72, 0.1, 130},
    [EK_VIEW_DATA_LOADING] = {0.7, 0.12, 110},
    [EK_VIEW_STEP] = {0.6, 0.03, 250},
    [EK_VIEW_SCOPE] = {0.7, 0.05, 285},
    [EK_VIEW_MARK] = {0.55, 0.17, 20},
    [EK_VIEW_OVERLAP_COMPUTING] = {0.62, 0.13, 250},
    [EK_VIEW_OVERLAP_COMMUNICATION] = {0.76, 0.11, 65},
    [EK_VIEW_OVERLAP_NOT_OVERLAPPED] = {0.6, 0.19, 35},
    [EK_VIEW_IDLE] = {0.84, 0.01, 260},
    [EK_VIEW_FORWARD] = {0.6, 0.14, 252},
    [EK_VIEW_BACKWARD] = {0.73, 0.13, 165},
    [EK_VIEW_BACKWARD_INPUT] = {0.73, 0.13, 165},
    [EK_VIEW_BACKWARD_WEIGHT] = {0.6, 0.12, 118},
    [EK_VIEW_RECOMPUTE] = {0.7, 0.14, 75},
    [EK_VIEW_TRANSFER] = {0.56, 0.16, 330},
    [EK_VIEW_PARAMETERS] = {0.52, 0.12, 262},
    [EK_VIEW_GRADIENTS] = {0.62, 0.12, 175},
    [EK_VIEW_OPTIMIZER] = {0.56, 0.13, 310},
    [EK_VIEW_ACTIVATIONS] = {0.73, 0.14, 65},
};

/* Linear light encoded for a screen. */
static double gamma_of(double x)
{
    return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
}

/* Linear light, each 0 to 1 if it is displayable. */
static void linear_of(double lightness, double chroma, double hue, double out[3])
{
    double a = chroma * cos(hue * PI / 180), b = chroma * sin(hue * PI / 180);
    double l = pow(lightness + 0.3963377774 * a + 0.2158037573 * b, 3);
    double m = pow(lightness - 0.1055613458 * a - 0.0638541728 * b, 3);
    double s = pow(lightness - 0.0894841775 * a - 1.291485548 * b, 3);
    out[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
    out[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
    out[2] = -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s;
}

/* Chroma is lowered until the colour is displayable. */
static ek__rgb rgb_of(double lightness, double chroma, double hue)
{
    double light[3];
    for (double c = chroma;; c -= 0.01) {
        bool fits = true;
        linear_of(lightness, fmax(c, 0), hue, light);
        for (int i = 0; i < 3; i++)
            fits = fits && light[i] >= -0.0005 && light[i] <= 1.0005;
        if (fits || c <= 0)
            break;
    }
    int byte[3];
    for (int i = 0; i < 3; i++)
        byte[i] = (int)floor(255 * gamma_of(fmin(1, fmax(0, light[i]))) + 0.5);
    return (ek__rgb){byte[0], byte[1], byte[2]};
}

static double lightness_of(ek_view_type role, bool dark)
{
    double lightness = ek__role_color[role].lightness;
    return dark ? MIDDLE + (lightness - MIDDLE) * DARK_SCALE : lightness;
}

ek__rgb ek__role_rgb(ek_view_type role, bool dark)
{
    assert(role >= 0 && role < EK_N_VIEW_TYPES);
    return rgb_of(lightness_of(role, dark), ek__role_color[role].chroma, ek__role_color[role].hue);
}

ek__rgb ek__chunk_rgb(ek_view_type role, int chunk, int n, bool dark)
{
    assert(chunk >= 0 && chunk < n);
    if (n < 2)
        return ek__role_rgb(role, dark);
    double plain = lightness_of(role, dark), place = (double)chunk / (n - 1);
    double low = plain - CHUNK_SPREAD, high = dark ? plain + CHUNK_SPREAD : fmin(LIGHTEST, plain + CHUNK_SPREAD);
    double lightness = dark ? low + place * (high - low) : high - place * (high - low);
    return rgb_of(lightness, ek__role_color[role].chroma, ek__role_color[role].hue);
}

int ek__step_part_role(int part)
{
    switch (part) {
    case EK_STEP_MATRIX:
        return EK_VIEW_COMPUTING;
    case EK_STEP_RECOMPUTE:
        return EK_VIEW_RECOMPUTE;
    case EK_STEP_TENSOR:
        return EK_VIEW_COMMUNICATION;
    case EK_STEP_BUBBLE:
        return EK_VIEW_IDLE;
    case EK_STEP_P2P:
        return EK_VIEW_TRANSFER;
    case EK_STEP_OPTIMIZER:
        return EK_VIEW_OPTIMIZER;
    case EK_STEP_INPUT:
        return EK_VIEW_DATA_LOADING;
    default:
        return -1;
    }
}

int ek__memory_piece_role(int piece)
{
    static const int role[EK__N_MEMORY_PIECES] = {
        EK_VIEW_PARAMETERS, EK_VIEW_GRADIENTS, EK_VIEW_OPTIMIZER, EK_VIEW_ACTIVATIONS, -1, -1, -1};
    return role[piece];
}

void ek__role_rules(FILE *out, const char *prefix, int n, int (*role_of)(int part), bool dark)
{
    for (int i = 0; i < n; i++) {
        if (role_of(i) < 0)
            continue;
        ek__rgb c = ek__role_rgb((ek_view_type)role_of(i), dark);
        fprintf(out, ".%s%d{fill:#%02x%02x%02x}", prefix, i, c.r, c.g, c.b);
    }
    fputc('\n', out);
}
