"""Asymptotic data movement of convolutions and of the fast Fourier transform (DMC4ML, Ding et al.).

The formulas are leading terms, with printed errors corrected in Notes. For sizes that fit a trace, prefer the exact
`reuse_distances().dmd` of a kernel: at n = 512 and k = 3, the formula of the convolution overstates it by 39 %.
"""

import math

from lamcts.types import whole_number


def convolution(height: int, width: int, k: int) -> float:
    """Return the asymptotic data movement distance of a convolution, 2 sqrt(2) k^3 h w + k^1.5 h w^1.5.

    Parameters
    ----------
    height, width : int
        Rows and columns of the image.
    k : int
        Rows and columns of the kernel.

    Returns
    -------
    float
        The distance by theorem 3.10.

    Raises
    ------
    ValueError
        If an argument is not a whole number of at least 1.

    Notes
    -----
    Where the second term dominates, a square image costs m^(1/4) times a portrait of the same number of pixels with
    height = m * width, and a landscape m^(1/2) times. The paper prints the cube root of m for the square; its own
    figures, 19 % and 41 % at m = 2, are those of the fourth root and the square root. Traces at practical sizes do not
    reach the ratios: at 2^20 pixels, k = 3 and m = 4 they are 1.231 and 1.555, not 1.414 and 2.

    References
    ----------
    Ding et al., DMC4ML: data movement complexity for machine learning, section 3.2.

    Examples
    --------
    >>> from lamcts.movement.costs import asymptotics
    >>> [round(asymptotics.convolution(512, 512, k) / 1e6, 2) for k in (3, 5, 7)]
    [50.84, 159.0, 364.17]
    """
    h, w, k = whole_number(height, "height"), whole_number(width, "width"), whole_number(k, "k")
    return 2 * math.sqrt(2) * k**3 * h * w + k * math.sqrt(k) * h * w * math.sqrt(w)


def batched_convolution(n: int, k: int, channels: int, batch: int) -> float:
    """Return the asymptotic data movement distance of a convolution of several channels, some at a time.

    Parameters
    ----------
    n : int
        Rows and columns of the image.
    k : int
        Rows and columns of the kernel.
    channels : int
        Number of channels c.
    batch : int
        Channels x of one pass, at most `channels`.

    Returns
    -------
    float
        c sqrt(x) (2 sqrt(2) k^3 n^2 + k^1.5 n^2.5) + sqrt(x) (c/x - 1) n^3, by theorem 3.11.

    Raises
    ------
    ValueError
        If an argument is not a whole number of at least 1, or the batch is larger than the channels.

    Notes
    -----
    With k = 3 and c = 10, the formula prefers x = 10 to x = 1 from n = 448 on, and at n = 1024 and x = c it prefers
    batching up to c = 25, as printed. It overstates the traces at n = 96 by 17 % (x = 2) and by 35 % (x = 10), so that
    it misses that x = 2 is better than x = 1 there.

    References
    ----------
    Ding et al., DMC4ML: data movement complexity for machine learning, section 3.3.

    Examples
    --------
    >>> from lamcts.movement.costs import asymptotics
    >>> [min((1, 10), key=lambda x: asymptotics.batched_convolution(n, 3, 10, x)) for n in (447, 448)]
    [1, 10]
    """
    c, x = whole_number(channels, "channels"), whole_number(batch, "batch")
    if x > c:
        raise ValueError(f"batch: expected at most the {c} channels, got {x}")
    return c * math.sqrt(x) * convolution(n, n, k) + math.sqrt(x) * (c / x - 1) * n**3


def im2col(n: int, k: int) -> float:
    """Return the asymptotic data movement distance of a convolution by im2col and a matrix-vector product.

    Parameters
    ----------
    n : int
        Rows and columns of the image.
    k : int
        Rows and columns of the kernel.

    Returns
    -------
    float
        2 sqrt(2) k^3 n^2 + k^1.5 n^2.5 + k n^3, by theorem 3.12.

    Raises
    ------
    ValueError
        If an argument is not a whole number of at least 1.

    Notes
    -----
    The last term is sqrt(n/k) times the second, 12.09 at n = 1024 and k = 7: "around 12 times". The paper states that
    the preprocessing "incurs no additional" cost, and counts its matrix by the last term: the term is that of the
    product, which reads the matrix again. Algorithm 2 writes `R[j+p][i]`, which overwrites elements: columns are those
    of `R[p][i*(n-k+1)+j]`, as the kernel `im2col` has them.

    References
    ----------
    Ding et al., DMC4ML: data movement complexity for machine learning, section 3.3.

    Examples
    --------
    >>> from lamcts.movement.costs import asymptotics
    >>> round((asymptotics.im2col(1024, 7) - asymptotics.convolution(1024, 1024, 7)) / (7**1.5 * 1024**2.5), 2)
    12.09
    """
    return convolution(n, n, k) + k * n**3


def fft(n: int, log_base: float = 2) -> float:
    """Return the lower asymptotic bound of the data movement distance of the recursive fast Fourier transform.

    Parameters
    ----------
    n : int
        Number of elements, a power of two.
    log_base : float, default 2
        Base of the logarithm. The paper's number needs 10, see Notes.

    Returns
    -------
    float
        6.4 n^1.5 sqrt(log n), by theorem 3.18.

    Raises
    ------
    ValueError
        If `n` is no power of two.

    Notes
    -----
    Lemma 3.13 counts levels by binary logarithms. The paper's 376 million for a transform of a 512 x 512 image,
    38.5 n^2.5 sqrt(log n), holds with the logarithm to base 10 alone; base 2 gives 685 million. The exact traces of
    `kernels.fft_trace` have 5.5 n^1.5 sqrt(log2 n) at n = 2^6 and 4.6 at 2^17: with base 2 the bound is too high.

    References
    ----------
    Ding et al., DMC4ML: data movement complexity for machine learning, section 3.4.

    Examples
    --------
    >>> from lamcts.movement.costs import asymptotics
    >>> round(asymptotics.fft_convolution(512, log_base=10) / 1e6), round(asymptotics.fft_convolution(512) / 1e6)
    (376, 685)
    """
    if whole_number(n, "n", least=2) & n - 1:
        raise ValueError(f"n: expected a power of two, got {n}")
    return 6.4 * n * math.sqrt(n * math.log(n, log_base))


def fft_convolution(n: int, log_base: float = 2) -> float:
    """Return the lower asymptotic bound of a convolution by three two-dimensional transforms of n x n elements.

    Parameters
    ----------
    n : int
        Rows and columns of the image, a power of two.
    log_base : float, default 2
        Base of the logarithm; see the notes of `fft`.

    Returns
    -------
    float
        38.5 n^2.5 sqrt(log n), as printed in section 3.5.1.

    Raises
    ------
    ValueError
        If `n` is no power of two.
    """
    return 38.5 / 6.4 * n * fft(n, log_base)
