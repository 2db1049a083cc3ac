"""For those who test codecs: motions made from a seed, and the contract every codec keeps."""
