"""Images: files of all kinds, whole, cut off and damaged; resizing and cropping; colours; boxes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from lines import FLOATS, Arguments, Line, Pool, refused
from state_table import Program, constant

raw = tf.raw_ops
RESIZED = ("int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "bfloat16", "float32", "float64")


def photo(height: int, width: int, channels: int, seed: int = 0, dtype: Any = np.uint8) -> np.ndarray:
    """Smooth with some noise, as photographs are."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(float)
    top = np.iinfo(dtype).max
    layers = [np.sin(x / (3 + c) + seed) + np.cos(y / (5 - c / 2)) + rng.normal(0, 0.2, (height, width)) for c in range(channels)]
    return np.clip((np.stack(layers, -1) + 2) / 4 * top, 0, top).astype(dtype)


def eager(op: Any, **arguments: Any) -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        return session.run(op(**arguments))


def jpeg(image: np.ndarray, **options: Any) -> bytes:
    return eager(raw.EncodeJpeg, image=image, **options)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(image: np.ndarray, color: int, bits: int = 8, extra: bytes = b"", interlaced: bool = False) -> bytes:
    """`image` has the bytes of the rows."""
    height, row = image.shape
    per_pixel = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color] * bits
    header = struct.pack(">IIBBBBB", row * 8 // per_pixel, height, bits, color, 0, 0, int(interlaced))
    data = b"".join(b"\0" + bytes(line) for line in image)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def bmp(image: np.ndarray, top_down: bool = False) -> bytes:
    height, width, channels = image.shape
    rows = image if top_down else image[::-1]
    data = b"".join(bytes(row) + b"\0" * (-row.size % 4) for row in rows)
    header = struct.pack("<2sIHHIIiiHH", b"BM", 54 + len(data), 0, 0, 54, 40, width, -height if top_down else height, 1, channels * 8)
    return header + b"\0" * 24 + data


def gif(frames: list[tuple[int, int, np.ndarray, int | None]], colors: int = 16, size: tuple[int, int] = (9, 7)) -> bytes:
    """Frames at places, with a transparent colour or none; codes of 5 bits, a clear code before each pixel."""
    height, width = size
    bits = colors.bit_length() - 1
    palette = bytes((i * 37 + c * 91) % 256 for i in range(colors) for c in range(3))
    out = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80 | (bits - 1), 0, 0) + palette
    for y, x, pixels, transparent in frames:
        if transparent is not None:
            out += b"\x21\xf9\x04" + struct.pack("<BHB", 1, 0, transparent) + b"\0"
        out += b"\x2c" + struct.pack("<HHHHB", x, y, pixels.shape[1], pixels.shape[0], 0)
        codes = [code for pixel in pixels.reshape(-1) for code in (1 << bits, int(pixel))] + [(1 << bits) + 1]
        packed = sum(code << (i * (bits + 1)) for i, code in enumerate(codes))
        data = packed.to_bytes((len(codes) * (bits + 1) + 7) // 8, "little")
        out += bytes([bits]) + b"".join(bytes([len(part)]) + part for part in (data[i:i + 255] for i in range(0, len(data), 255))) + b"\0"
    return out + b"\x3b"


def decode(op: str, contents: bytes, **options: Any) -> Any:
    return getattr(raw, op)(contents=constant(np.array(contents, object)), **options)


def png_files(pool: Pool) -> list[Any]:
    grey, color, wide = photo(11, 13, 1), photo(11, 13, 3, 1), photo(6, 5, 4, 2, np.uint16)
    rng = np.random.default_rng(5)
    palette = chunk(b"PLTE", bytes(rng.integers(0, 256, 48, np.uint8)))
    indices = rng.integers(0, 256, (6, 4), np.uint8)
    flat = {c: photo(7, 9, c, c).reshape(7, -1) for c in (1, 2, 3, 4)}
    wide_rows = {c: photo(7, 9, c, c, np.uint16).byteswap().view(np.uint8).reshape(7, -1) for c in (1, 2, 3, 4)}
    kinds = {1: 0, 2: 4, 3: 2, 4: 6}
    files = [eager(raw.EncodePng, image=i) for i in (grey, color, wide)]
    files += [png(flat[c], kinds[c]) for c in flat] + [png(wide_rows[c], kinds[c], 16) for c in flat]
    files += [png(indices, 3, 4, palette), png(indices, 3, 4, palette + chunk(b"tRNS", b"\0\x80\xff")), png(indices, 0, 1), png(indices, 0, 2),
              png(indices, 0, 4), png(flat[1], 0, 8, chunk(b"tRNS", b"\0\x10")), png(flat[3], 2, 8, chunk(b"tRNS", b"\0\x10\0\x20\0\x30"))]
    steps: list[Any] = []
    for contents in files:
        for channels in (0, 1, 3, 4):
            steps += [decode("DecodePng", contents, channels=channels, dtype=dtype) for dtype in (tf.uint8, tf.uint16)]
        steps += [decode("DecodeImage", contents, dtype=tf.float32), decode("DecodeImage", contents, dtype=tf.uint16, channels=3),
                  decode("DecodeJpeg", contents), decode("DecodeGif", contents), decode("DecodeBmp", contents)]
    whole = files[1]
    steps += [decode("DecodePng", whole[:n]) for n in (0, 4, 8, 20, 40, len(whole) // 2, len(whole) - 13)]
    steps += [decode("DecodePng", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)))
              for w, h in ((0, 1), (1, 0), (1 << 30, 1 << 30), (70000, 70000))]
    encoded = [raw.EncodePng(image=constant(i), compression=c) for i in (grey, color, wide, photo(3, 4, 2)) for c in (-1, 0, 9)]
    encoded += [raw.EncodePng(image=constant(photo(4, 6, 3).reshape(2, 2, 2, 3, 3)[:, 0]))]
    refusals = [raw.EncodePng(image=constant(np.zeros(s, np.uint8))) for s in ((2, 2), (2, 2, 5))]
    return steps + [decoded(e) for e in encoded] + refusals


def decoded(contents: tf.Tensor) -> Any:
    """What an encoder's file shows: bytes may differ."""
    return [tf.shape(contents), raw.DecodePng(contents=tf.reshape(contents, [-1])[-1], dtype=tf.uint16)]


def jpeg_files(pool: Pool) -> list[Any]:
    grey, color = photo(33, 45, 1), photo(37, 50, 3)
    files = [jpeg(grey), jpeg(color), jpeg(color, quality=40, progressive=True), jpeg(color, chroma_downsampling=False), jpeg(photo(8, 8, 3)), jpeg(photo(1, 1, 3))]
    steps: list[Any] = []
    for contents in files:
        steps += [decode("DecodeJpeg", contents, channels=c, dct_method=m) for c in (0, 1, 3) for m in ("", "INTEGER_FAST", "INTEGER_ACCURATE")]
        steps += [decode("DecodeJpeg", contents, ratio=r, fancy_upscaling=f) for r in (1, 2, 4, 8) for f in (False, True)]
        steps += [decode("ExtractJpegShape", contents), decode("ExtractJpegShape", contents, output_type=tf.int64), decode("DecodeImage", contents),
                  decode("DecodeImage", contents, dtype=tf.float32), decode("DecodeImage", contents, dtype=tf.uint16), decode("DecodeImage", contents, channels=4),
                  decode("DecodePng", contents), decode("DecodeGif", contents), decode("DecodeBmp", contents)]
    for window in ((0, 0, 37, 50), (5, 7, 11, 13), (20, 33, 17, 17), (0, 16, 8, 16), (36, 49, 1, 1), (0, 0, 38, 1), (-1, 0, 2, 2), (0, 0, 0, 2)):
        steps += [decode("DecodeAndCropJpeg", f, crop_window=constant(list(window)), channels=c) for f in files[1:4] for c in (0, 1)]
    steps += [decode("DecodeAndCropJpeg", files[1], crop_window=constant([1, 2, 3])), decode("DecodeAndCropJpeg", files[1], crop_window=constant([1, 2, 9, 9]), ratio=2)]
    whole = files[1]
    for n in (3, 20, 200, len(whole) // 2, len(whole) * 9 // 10, len(whole) - 1):
        steps.append(decode("DecodeJpeg", whole[:n]))
    images = [constant(grey), constant(color)]
    encoded = [raw.EncodeJpeg(image=i, quality=q, progressive=p, optimize_size=o, chroma_downsampling=d)
               for i in images for q, p, o, d in ((95, False, False, True), (0, False, False, True), (100, True, False, False), (50, False, True, True))]
    encoded += [raw.EncodeJpeg(image=images[1], density_unit="cm", x_density=7, y_density=9, xmp_metadata="text"),
                raw.EncodeJpegVariableQuality(images=images[0], quality=constant(33)), raw.EncodeJpegVariableQuality(images=images[0], quality=constant(101)),
                raw.EncodeJpeg(image=images[0], format="rgb"), raw.EncodeJpeg(image=images[0], format="grayscale"), raw.EncodeJpeg(image=constant(photo(2, 2, 2)))]
    return steps + encoded


def other_files(pool: Pool) -> list[Any]:
    rng = np.random.default_rng(3)
    whole, part = rng.integers(0, 16, (9, 7)), rng.integers(0, 16, (4, 3))
    files = [gif([(0, 0, whole, None)]), gif([(0, 0, whole, None), (2, 3, part, 5)]), gif([(2, 3, part, 5)]),
             gif([(0, 0, part, None), (1, 1, whole, 3), (7, 6, part, None)])]
    pictures = [bmp(photo(5, 6, c, c), t) for c in (1, 3, 4) for t in (False, True)]
    # Files that are cut off end TensorFlow's process: image_test.cc has them.
    steps = [decode(op, f) for f in files for op in ("DecodeGif", "DecodeImage", "DecodePng", "DecodeJpeg")]
    steps += [decode("DecodeImage", f, expand_animations=False, dtype=t) for f in files for t in (tf.uint8, tf.float32, tf.uint16)]
    steps += [decode("DecodeImage", f, channels=c) for f in files[:2] for c in (1, 3, 4)]
    steps += [decode("DecodeBmp", f, channels=c) for f in pictures for c in (0,)]
    steps += [decode("DecodeImage", f, dtype=t) for f in pictures[::2] for t in (tf.uint8, tf.float32)]
    return steps + [decode(op, c) for op in ("DecodeImage", "DecodePng", "DecodeJpeg") for c in (b"", b"nothing")]


SIZES = ((1, 1), (3, 5), (7, 11), (4, 4), (13, 6))
IMAGES = ((1, 4, 4, 1), (2, 5, 7, 3), (1, 1, 1, 2), (1, 6, 3, 5))


def resizes(pool: Pool, dtype: str, half: bool = True) -> Iterator[Arguments]:
    for shape in IMAGES:
        for size in SIZES:
            for align, pixels in ((False, False), (True, False), (False, True)):
                if half or not pixels:
                    yield {"images": pool(shape, dtype), "size": np.array(size, np.int32), "align_corners": align,
                           **({"half_pixel_centers": pixels} if half else {})}


def areas(pool: Pool, dtype: str) -> Iterator[Arguments]:
    yield from resizes(pool, dtype, False)


def resize_grads(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for b, h, w, c in IMAGES:
        for y, x in SIZES:
            for align, pixels in ((False, False), (True, False), (False, True)):
                yield {"grads": pool((b, y, x, c), "float32"), "original_image": pool((b, h, w, c), dtype), "align_corners": align, "half_pixel_centers": pixels}


def nearest_grads(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for case in resizes(pool, dtype):
        yield {"grads": case.pop("images"), **case}


MOTIONS = (((1.0, 1.0), (0.0, 0.0)), ((0.5, 2.0), (1.0, -1.5)), ((0.3, 0.7), (0.2, 0.0)))
KERNELS = ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic")


def motions(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for shape in IMAGES:
        for size in SIZES[:3]:
            for scale, move in MOTIONS:
                for kernel in KERNELS:
                    yield {"images": pool(shape, dtype), "size": np.array(size, np.int32), "scale": np.array(scale, np.float32),
                           "translation": np.array(move, np.float32), "kernel_type": kernel, "antialias": kernel != "lanczos5"}


def motion_grads(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for case in motions(pool, dtype):
        b, _, _, c = case["images"].shape
        yield {"grads": pool((b, *case.pop("size").tolist(), c), dtype), "original_image": case.pop("images"), **case}


BOXES = np.array([[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], [0.8, 0.9, 0.2, 0.1], [-0.2, 0.3, 1.3, 0.6], [0.5, 0.5, 0.5, 0.5]], np.float32)
OF_IMAGES = np.array([0, 1, 1, 0, 1], np.int32)


def crops(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for size in ((1, 1), (3, 4), (8, 9)):
        for method in ("bilinear", "nearest"):
            yield {"image": pool((2, 6, 5, 3), dtype), "boxes": BOXES, "box_ind": OF_IMAGES, "crop_size": np.array(size, np.int32), "method": method,
                   "extrapolation_value": 7.5}


def crop_image_grads(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for size in ((1, 1), (3, 4), (8, 9)):
        for method in ("bilinear", "nearest"):
            yield {"grads": pool((5, *size, 3), "float32"), "boxes": BOXES, "box_ind": OF_IMAGES, "image_size": np.array([2, 6, 5, 3], np.int32),
                   "T": dtype, "method": method}


def crop_box_grads(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for size in ((1, 1), (3, 4), (8, 9)):
        yield {"grads": pool((5, *size, 3), "float32"), "image": pool((2, 6, 5, 3), dtype), "boxes": BOXES, "box_ind": OF_IMAGES}


def projections(pool: Pool, dtype: str, version: int = 2) -> Iterator[Arguments]:
    transforms = np.array([[1, 0, 0, 0, 1, 0, 0, 0], [0.9, 0.2, -1.3, -0.1, 1.1, 0.7, 0, 0], [1, 0, 3, 0, 1, -2, 0.01, -0.02], [-1, 0, 4, 0, 2, -5, 0, 0]], np.float32)
    for mode in ("CONSTANT", "REFLECT", "WRAP", "NEAREST"):
        for how in ("NEAREST", "BILINEAR"):
            for chosen, size in ((transforms[:2], (6, 7)), (transforms[2:], (9, 4)), (transforms[1:2], (5, 5))):
                # Values that interpolation keeps away from what a whole number is cut off at.
                yield {"images": (pool((2, 6, 5, 2), dtype, "small") * 10).astype(tf.as_dtype(dtype).as_numpy_dtype), "transforms": chosen,
                       "output_shape": np.array(size, np.int32), "interpolation": how, "fill_mode": mode, **({"fill_value": np.float32(3)} if version == 3 else {})}


def projections3(pool: Pool, dtype: str) -> Iterator[Arguments]:
    yield from projections(pool, dtype, 3)


def colors(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for shape in ((3,), (4, 3), (2, 5, 3), (0, 3), (17, 30, 3)):
        yield {"images": np.abs(pool(shape, dtype, "unit"))}
    yield {"images": np.array([[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.25], [0.25, 0.5, 0.5], [0.5, 0.25, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1]]).astype(tf.as_dtype(dtype).as_numpy_dtype)}


def adjusting(name: str, *amounts: float) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        for shape in ((2, 5, 3), (2, 7, 6, 3), (0, 4, 4, 3)):
            for amount in amounts:
                yield {"images": np.abs(pool(shape, dtype, "unit")), name: np.float32(amount)}
    return cases


def drawings(pool: Pool, dtype: str) -> Iterator[Arguments]:
    boxes = np.stack([BOXES, BOXES[::-1] * 1.1 - 0.05])
    for depth in (1, 3, 4):
        yield {"images": pool((2, 12, 9, depth), dtype), "boxes": boxes}
    yield {"images": pool((2, 12, 9, 3), dtype), "boxes": np.tile(boxes, (1, 3, 1))}


def colored_drawings(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for case in drawings(pool, dtype):
        for shape in ((3, 4), (0, 4)):
            yield {**case, "colors": pool(shape, "float32")}


def some_boxes(dtype: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    corners = rng.uniform(0, 1, (n, 2)).repeat(2, 0).reshape(n, 4) + rng.uniform(-0.3, 0.3, (n, 4))
    kind = tf.as_dtype(dtype).as_numpy_dtype
    return corners[:, [0, 1, 2, 3]].astype(kind), rng.permutation(n).astype(kind) / 64


def suppressions(*names: str) -> Any:
    def cases(pool: Pool, dtype: str) -> Iterator[Arguments]:
        kind = tf.as_dtype(dtype).as_numpy_dtype
        for n, most in ((0, 3), (1, 1), (30, 10), (60, 100), (60, 0)):
            boxes, scores = some_boxes(dtype, n)
            for threshold, score, sigma, pads in ((0.5, 0.0, 0.0, False), (0.0, 0.3, 0.5, True), (1.0, -1.0, 0.0, True)):
                given = {"iou_threshold": kind(threshold), "score_threshold": kind(score), "soft_nms_sigma": kind(sigma), "pad_to_max_output_size": pads}
                yield {"boxes": boxes, "scores": scores, "max_output_size": np.int32(most), **{name: given[name] for name in names}}
    return cases


def first_suppressions(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for n, most in ((0, 3), (30, 10), (60, 100)):
        boxes, scores = some_boxes(dtype, n)
        yield {"boxes": boxes, "scores": scores, "max_output_size": np.int32(most), "iou_threshold": 0.3}


def overlapping(pool: Pool, dtype: str) -> Iterator[Arguments]:
    for n in (0, 1, 40):
        overlaps = np.abs(pool((n, n), dtype, "unit"))
        yield {"overlaps": overlaps, "scores": np.abs(pool((n,), dtype)), "max_output_size": np.int32(9), "overlap_threshold": np.float32(0.4), "score_threshold": np.float32(0.2)}


NMS = ("float16", "float32")
OF_FLOATS = 2.0**33  # units of a double's last place that are 8 of a float's
IMAGE_LINES: tuple[Line, ...] = (
    Line("ResizeNearestNeighbor", RESIZED, resizes), Line("ResizeBilinear", RESIZED, resizes, 64), Line("ResizeBicubic", RESIZED, resizes, 32),
    Line("ResizeArea", RESIZED, areas, 32), Line("ResizeBilinearGrad", tuple(t for t in FLOATS if t != "float64"), resize_grads, 32), Line("ResizeBicubicGrad", ("float32",), resize_grads, 32),
    # Weights are floats, whatever the type.
    Line("ResizeBilinearGrad", ("float64",), resize_grads, OF_FLOATS), Line("ResizeBicubicGrad", ("float64",), resize_grads, OF_FLOATS),
    Line("CropAndResizeGradImage", ("float64",), crop_image_grads, OF_FLOATS),
    Line("ResizeNearestNeighborGrad", ("uint8", "int8", "int32", *FLOATS), nearest_grads, 32), Line("ScaleAndTranslate", RESIZED, motions, 32),
    Line("ScaleAndTranslateGrad", ("float32",), motion_grads, 64),
    Line("CropAndResize", tuple(t for t in RESIZED if t != "bfloat16"), crops, 16), Line("CropAndResizeGradImage", ("float16", "float32"), crop_image_grads, 32),
    Line("CropAndResizeGradBoxes", tuple(t for t in RESIZED if t != "bfloat16"), crop_box_grads, 256),
    Line("ImageProjectiveTransformV2", ("uint8", "int32", "int64", "float16", "float32", "float64"), projections, 64),
    Line("ImageProjectiveTransformV3", ("uint8", "int32", "int64", "float16", "float32", "float64"), projections3, 64),
    Line("RGBToHSV", FLOATS, colors, 16), Line("HSVToRGB", FLOATS, colors, 16),
    Line("AdjustHue", ("float32",), adjusting("delta", 0, 0.1, -0.7, 3.3), 64), Line("AdjustSaturation", ("float32",), adjusting("scale", 0, 0.5, 1, 2.5), 64),
    Line("AdjustContrastv2", ("float32",), adjusting("contrast_factor", 0, 0.5, 3), 64),
    Line("DrawBoundingBoxes", NMS, drawings), Line("DrawBoundingBoxesV2", NMS, colored_drawings),
    Line("NonMaxSuppression", ("float32",), first_suppressions), Line("NonMaxSuppressionV2", NMS, suppressions("iou_threshold")),
    Line("NonMaxSuppressionV3", NMS, suppressions("iou_threshold", "score_threshold")),
    Line("NonMaxSuppressionV4", NMS, suppressions("iou_threshold", "score_threshold", "pad_to_max_output_size")),
    Line("NonMaxSuppressionV5", NMS, suppressions("iou_threshold", "score_threshold", "soft_nms_sigma", "pad_to_max_output_size"), 64),
    Line("NonMaxSuppressionWithOverlaps", ("float32",), overlapping),
    refused("ResizeBilinear", ("float32",), lambda p, t: {"images": p((2, 3, 4), t), "size": np.array([2, 2], np.int32)},
            lambda p, t: {"images": p((1, 2, 3, 4), t), "size": np.array([2, 0], np.int32)}, lambda p, t: {"images": p((1, 0, 3, 4), t), "size": np.array([2, 1], np.int32)}),
    refused("CropAndResize", ("float32",), lambda p, t: {"image": p((1, 3, 3, 1), t), "boxes": BOXES, "box_ind": OF_IMAGES, "crop_size": np.array([2, 2], np.int32)}),
    refused("NonMaxSuppressionV2", ("float32",), lambda p, t: {"boxes": p((3, 4), t), "scores": p((3,), t), "max_output_size": np.int32(2), "iou_threshold": np.float32(1.5)},
            lambda p, t: {"boxes": p((3, 4), t), "scores": p((2,), t), "max_output_size": np.int32(2), "iou_threshold": np.float32(0.5)}),
)
IMAGE_FILES: tuple[Program, ...] = (Program("PNG files", png_files), Program("JPEG files", jpeg_files), Program("GIF and BMP files", other_files))
