"""Motion as it happens, frame by frame: the public name of the live part of `ik-predict`."""

from mocpack.codecs.kinematic.live import Decoder, Encoder, Pose, still_of, without_twist

__all__ = ["Decoder", "Encoder", "Pose", "still_of", "without_twist"]
