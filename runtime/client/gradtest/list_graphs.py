"""The rows of graphs.py that keep values in lists of tensors: the ops themselves, and TensorArrays, which are such lists
where control flow is calls of functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from graphs import Row, array, open_, row, unrolled


def tensor_lists() -> Iterator[Row]:
    raw = tf.raw_ops
    known = {"element_dtype": tf.float32}

    def of_rows(x: Any) -> Any:
        return raw.TensorListFromTensor(tensor=x, element_shape=[2])

    def stack(handle: Any) -> Any:
        return raw.TensorListStack(input_handle=handle, element_shape=[2], **known)

    def get(handle: Any, index: Any) -> Any:
        return raw.TensorListGetItem(input_handle=handle, index=index, element_shape=[2], **known)

    def put(handle: Any, index: Any, item: Any, **how: Any) -> Any:
        return raw.TensorListSetItem(input_handle=handle, index=index, item=item, **how)

    def push(handle: Any, item: Any) -> Any:
        return raw.TensorListPushBack(input_handle=handle, tensor=item)

    def pop(handle: Any) -> Any:
        return raw.TensorListPopBack(input_handle=handle, element_shape=[2], **known)

    def pieces(x: Any) -> Any:
        return raw.TensorListSplit(tensor=x, element_shape=[-1, 2], lengths=tf.constant([1, 3, 2], tf.int64))

    def empty() -> Any:
        return raw.EmptyTensorList(element_shape=[2], max_num_elements=-1, **known)

    def reserve(size: int) -> Any:
        return raw.TensorListReserve(element_shape=[2], num_elements=size, **known)

    def repeat(n: int, body: Any, *xs: Any) -> Any:
        return tf.while_loop(lambda i, *v: i < n, lambda i, *v: (i + 1, *body(i, *v)), (0, *xs))[1:]

    def popped(x: Any) -> Any:
        rest, last = pop(of_rows(x))
        return [last ** 2, stack(rest) ** 3]

    def steps(x: Any, h: Any) -> Any:
        inputs = of_rows(x)

        def body(i: Any, h: Any, kept: Any) -> Any:
            h = tf.tanh(get(inputs, i) + h)
            return h, put(kept, i, h)
        last, kept = repeat(3, body, h, reserve(3))
        return [stack(kept) ** 2, last]

    def growing(x: Any) -> Any:
        def body(i: Any, kept: Any) -> Any:
            return i + 1, kept.write(i + 1, tf.sin(kept.read(i)) * x)
        first = array(1, dynamic_size=True, element_shape=[2]).write(0, x)
        return tf.while_loop(lambda i, kept: i < 4, body, (0, first))[1].stack() ** 2

    def shrinking(x: Any) -> Any:
        def body(i: Any, handle: Any, h: Any) -> Any:
            rest, last = pop(handle)
            return rest, tf.sin(h) * last
        rest, h = repeat(2, body, of_rows(x), tf.ones([2]))
        return [h, stack(rest)]

    def chosen(x: Any, above: float) -> Any:
        handle = of_rows(x)
        return stack(tf.cond(tf.reduce_sum(x) > above, lambda: put(handle, 1, get(handle, 0) ** 2), lambda: handle)) ** 2

    rows = [
        row("list, pushed", lambda x, y: stack(push(push(empty(), x), x * y)) ** 2, (2,), (2,)),
        row("list, popped", popped, (3, 2)),
        row("list, popped, the rest unused", lambda x: pop(of_rows(x))[1] ** 2, (3, 2)),
        row("list, set and got", lambda x, y: (lambda a: get(a, 0) * get(a, 1) + get(a, 0) + get(a, 2))(
            put(put(reserve(3), 0, x), 1, y)), (2,), (2,)),
        row("list, overwritten", lambda x, y: stack(put(of_rows(x), 1, y)) ** 2, (3, 2), (2,)),
        row("list, resized", lambda x: stack(raw.TensorListResize(input_handle=of_rows(x), size=2)) ** 2, (3, 2)),
        row("list, gathered", lambda x: raw.TensorListGather(
            input_handle=of_rows(x), indices=[2, 0], element_shape=[2], **known) ** 2, (3, 2)),
        row("list of complex numbers", lambda x: raw.TensorListGather(
            input_handle=of_rows(x), indices=[2, 0], element_shape=[2], element_dtype=tf.complex128) ** 2, (3, 2),
            dtype="complex128"),
        row("list, scattered", lambda x: stack(raw.TensorListScatter(
            tensor=x, indices=[2, 0, 3], element_shape=[2])) ** 2, (3, 2)),
        row("list, scattered to a length", lambda x: stack(raw.TensorListScatterV2(
            tensor=x, indices=[2, 0, 3], element_shape=[2], num_elements=5)) ** 2, (3, 2)),
        row("list, scattered into", lambda x, y: stack(raw.TensorListScatterIntoExistingList(
            input_handle=of_rows(x), tensor=y, indices=[2, 0])) ** 2, (3, 2), (2, 2)),
        row("list, split and concatenated", lambda x: raw.TensorListConcatV2(
            input_handle=pieces(x), element_shape=[-1, 2], leading_dims=tf.constant([], tf.int64), **known)[0] ** 2, (6, 2)),
        row("list, split, one piece", lambda x: raw.TensorListGetItem(
            input_handle=pieces(x), index=1, element_shape=[3, 2], **known) ** 2, (6, 2)),
        row("list, open shapes", lambda x: stack(of_rows(x)) ** 2, open_((3, 2))),
        row("lists in a while", steps, (3, 2), (2,)),
        row("list that shrinks in a while", shrinking, (4, 2)),
        row("list from an if, changed", lambda x: chosen(x, -100), (3, 2)),
        row("list from an if, unchanged", lambda x: chosen(x, 100), (3, 2)),
        row("lists in an if in a while", lambda x: stack(repeat(3, lambda i, a: (tf.cond(
            tf.equal(i, 1), lambda: put(a, 2, get(a, 0) * get(a, 1)), lambda: put(a, i, get(a, i) ** 2)),), of_rows(x))[0]),
            (3, 2)),
        row("lists in a case in a while", lambda x: stack(repeat(3, lambda i, a: (tf.switch_case(i, [
            lambda: put(a, 2, get(a, 0)), lambda: a, lambda: put(a, 0, get(a, 1) ** 2)]),), of_rows(x))[0]) ** 2, (3, 2)),
        row("list in a while in a while", lambda x: stack(repeat(2, lambda i, a: repeat(
            2, lambda j, b: (put(b, j, tf.sin(get(b, i)) * get(b, 2)),), a), of_rows(x))[0]), (3, 2)),
        row("arrays in a functional while", unrolled, (3, 2, 4), (4, 4)),
        row("array that grows in a functional while", growing, (2,)),
        row("functional array, scattered and gathered",
            lambda x: array().scatter([2, 0, 1], x).gather([0, 1, 2]) ** 2, (3, 2)),
        row("functional array, split and concatenated",
            lambda x: array(infer_shape=False).split(x, [1, 3, 2]).concat() ** 2, (6, 2)),
        row("functional map", lambda x, y: tf.map_fn(lambda v: v ** 2 * y, x), (3, 2), (2,)),
        row("functional map of open shapes", lambda x, y: tf.map_fn(lambda v: v ** 2 * y, x), open_((3, 2)), open_((2,))),
        row("functional scan", lambda x: tf.scan(lambda a, v: a * v + a, x), (4, 2)),
        row("functional fold", lambda x: tf.foldl(lambda a, v: tf.sin(a) * v, x), (4, 2)),
        row("second derivative of lists in a while", steps, (3, 2), (2,)),
        row("second derivative of a functional scan", lambda x: tf.scan(lambda a, v: a * v + a, x), (4, 2)),
    ]
    for made in rows:
        made.functional = True
        made.twice = made.name.startswith("second derivative of")
        yield made
