"""Algorithms of other papers that the chapters compare with, one file each."""
