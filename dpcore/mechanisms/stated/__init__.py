"""Channels of other systems, stated in a scheme.

Modules:
    bit_vectors: stated bits, as in RAPPOR
    declarations: the keys of a scheme that state a channel
    stated_channel: the mechanism of a stated channel, and the validation and privacy loss of its weights
"""
