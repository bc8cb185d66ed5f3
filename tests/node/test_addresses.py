"""Where the server may be sent to, and where not."""

from ipaddress import ip_address

import pytest

from rookery.node.addresses import address_fault, url_fault

ALWAYS_FORBIDDEN = [
    "169.254.0.1",
    "169.254.169.254",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fd20:ce::254%eth0",
    "0.0.0.0",
    "0.1.2.3",
    "::",
    "224.0.0.1",
    "239.1.2.3",
    "ff02::1",
    "255.255.255.255",
    "::ffff:169.254.169.254",
    "::ffff:0.0.0.0",
    "::169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::169.254.169.254",
    "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601",
    "::ffff:100.100.100.200",
]
LOOPBACK = ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
ALLOWED = ["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "93.184.216.34", "fd12::1", "2606:2800:220:1::1"]


@pytest.mark.parametrize("text", ALWAYS_FORBIDDEN)
@pytest.mark.parametrize("may_reach_loopback", [False, True])
def test_some_addresses_are_never_allowed(text: str, may_reach_loopback: bool) -> None:
    assert str(ip_address(text)) in str(address_fault(ip_address(text), may_reach_loopback))


@pytest.mark.parametrize("text", LOOPBACK)
def test_loopback_is_allowed_only_if_the_server_may_reach_it(text: str) -> None:
    assert "loopback" in str(address_fault(ip_address(text), False))
    assert address_fault(ip_address(text), True) is None


@pytest.mark.parametrize("text", ALLOWED)
def test_public_and_private_networks_are_allowed(text: str) -> None:
    assert address_fault(ip_address(text), False) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://example.com/a?b=c#d",
        "HTTPS://EXAMPLE.COM:8443/",
        "http://10.0.0.1:1/",
        "http://[fd12::1]:8080/hook",
        "http://xn--bcher-kva.example/",
    ],
)
def test_a_sound_url_is_accepted(url: str) -> None:
    assert url_fault(url, False) is None


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.com", "http://"),
        ("ftp://example.com", "http://"),
        ("file:///etc/passwd", "http://"),
        ("javascript:alert(1)", "http://"),
        ("http:/example.com", "http://"),
        ("http://", "host"),
        ("http:///path", "host"),
        ("http://:80/", "host"),
        ("http://a b.com/", "space"),
        ("http://example.com/\n", "control"),
        ("http://example.com\\@evil.com/", "backslash"),
        ("http://bücher.example/", "punycode"),
        ("http://example.com:99999/", "URL"),
        ("http://example.com:x/", "URL"),
        ("http://example.com:0/", "port"),
        ("http://[::1/", "URL"),
        ("http://user@example.com/", "user name"),
        ("http://user:pass@example.com/", "password"),
        ("http://example.com/" + "x" * 2048, "longer"),
        ("http://169.254.169.254/latest/meta-data", "link-local"),
        ("http://169.254.169.254./", "link-local"),
        ("http://2852039166/", "link-local"),
        ("http://0xA9FEA9FE/", "link-local"),
        ("http://0251.0376.0251.0376/", "link-local"),
        ("http://[::ffff:169.254.169.254]/", "link-local"),
        ("http://[fe80::1%25eth0]/", "link-local"),
        ("http://0/", "no address"),
        ("http://127.0.0.1:8080/", "loopback"),
        ("http://127.1/", "loopback"),
        ("http://[::1]/", "loopback"),
        ("http://localhost:8080/", "loopback"),
        ("http://LOCALHOST./", "loopback"),
        ("http://any.localhost/", "loopback"),
    ],
)
def test_the_fault_of_a_url_is_named(url: str, words: str) -> None:
    assert words in str(url_fault(url, False))


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/", "http://localhost/", "http://[::1]:1/", "http://127.1/"])
def test_loopback_in_a_url_is_accepted_if_the_server_may_reach_it(url: str) -> None:
    assert url_fault(url, True) is None
