"""Where the server may be sent to by those who give it URLs: not to cloud metadata, not to itself unless allowed.

The rule is asked twice: of an address in a URL when that is given, and of every address that a connection is made to.
"""

import re
import socket
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

IpAddress = IPv4Address | IPv6Address

LONGEST_URL: Final = 2048
_STRANGE: Final = re.compile(r"[^\x21-\x7e]|\\")
_LOCALHOST: Final = re.compile(r"(.+\.)?localhost\.?")
_LOOPBACK: Final = ip_address("127.0.0.1")
_METADATA: Final = frozenset(
    ip_address(text)
    for text in (
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fd00:42::42",
    )
)
"""Where clouds that do not use a link-local address answer questions about a machine and its credentials."""
_THIS_NETWORK: Final = ip_network("0.0.0.0/8")
_BROADCAST: Final = ip_address("255.255.255.255")
_V4_AT_THE_END: Final = (
    IPv6Network("::/96"),
    IPv6Network("64:ff9b::/96"),
    IPv6Network("64:ff9b:1::/48"),
)
"""IPv6 addresses that lead to the IPv4 address in their last 32 bits."""


def address_fault(address: IpAddress, may_reach_loopback: bool) -> str | None:
    """Why the server must not connect to an address, or None."""
    plain = address if isinstance(address, IPv4Address) else IPv6Address(int(address))  # without its zone
    for meant in (plain, *_hidden_in(plain)):
        if meant.is_loopback:
            if not may_reach_loopback:
                return f"{address} is a loopback address"
        elif meant.is_link_local:
            return f"{address} is a link-local address"
        elif meant in _METADATA:
            return f"{address} is an address of cloud metadata"
        elif meant.is_unspecified or meant in _THIS_NETWORK:
            return f"{address} is no address of a host"
        elif meant.is_multicast or meant == _BROADCAST:
            return f"{address} is not the address of one host"
    return None


def _hidden_in(address: IpAddress) -> Iterator[IpAddress]:
    """The IPv4 addresses that an IPv6 address may lead to."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield address.teredo[1]
    is_plain = address.is_loopback or address.is_unspecified
    if not is_plain and any(address in network for network in _V4_AT_THE_END):
        yield IPv4Address(int(address) & 0xFFFFFFFF)


def url_fault(url: str, may_reach_loopback: bool) -> str | None:
    """Why the server cannot or must not send anything to a URL, or None. A name is not looked up for this."""
    fault = form_fault(url)
    if fault is not None:
        return fault
    host = urlsplit(url).hostname or ""
    address = _LOOPBACK if _LOCALHOST.fullmatch(host) else literal_address(host)
    fault = None if address is None else address_fault(address, may_reach_loopback)
    return None if fault is None else f"must not lead there: {fault}"


def form_fault(url: str) -> str | None:
    """What is wrong with the way a URL is written, wherever it leads, or None."""
    if len(url) > LONGEST_URL:
        return f"is longer than {LONGEST_URL} characters"
    if not url.lower().startswith(("http://", "https://")):
        return "must start with http:// or https://"
    if _STRANGE.search(url):
        return "has a space, a backslash, a control character or one beyond ASCII (write it with % or in punycode)"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        return f"is not a URL: {error}"
    if not host:
        return "has no host"
    if port == 0:
        return "has port 0"
    if parts.username is not None or parts.password is not None:
        return "must not contain a user name or password"
    return None


def literal_address(host: str) -> IpAddress | None:
    """The address that a URL's host is by itself, in any of the ways to write one; None for a name."""
    try:
        return ip_address(host.rstrip("."))
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, ValueError):
        return None


def look_up(host: str, port: int) -> list[IpAddress]:
    """All addresses of a name, as the system orders them. Blocks; raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(entry[4][0]) for entry in found))
