"""Stream motion live: encode each frame into a small packet, and decode packets (docs/live.md).

sender = live.Sender(clip.header, max_error=0.005)
receiver = live.Receiver(sender.hello.to_bytes())
packet = sender.send(rotations, translations)         # bytes, for any network
for pose in receiver.receive(packet):                 # none, one or several
    pose.rotations, pose.translations
"""

from mocpack.live.hello import Hello, is_hello
from mocpack.live.player import Player
from mocpack.live.rate_control import Mode, RateControl
from mocpack.live.receiver import PacketStatus, Pose, Receiver
from mocpack.live.repeats import choose_repeats
from mocpack.live.report import Report
from mocpack.live.sender import Sender
from mocpack.live.stream_buffer import StreamBuffer

__all__ = [
    "Hello",
    "Mode",
    "PacketStatus",
    "Player",
    "Pose",
    "RateControl",
    "Receiver",
    "Report",
    "Sender",
    "StreamBuffer",
    "choose_repeats",
    "is_hello",
]
