import CurlEngine
import Testing

@testable import DaemonKit

@Suite struct TraceLineTests {
    @Test(arguments: [
        ("GET /a?token=s3cret&x=1 HTTP/1.1", "GET /a?token=***&x=*** HTTP/1.1"),
        ("HTTP/1.1 200 OK", "HTTP/1.1 200 OK"), ("HTTP/2 404 ", "HTTP/2 404 "),
        ("Host: example.org:8080", "Host: example.org:8080"), ("Range: bytes=5-", "Range: bytes=5-"),
        ("Authorization: Basic s3cret", "Authorization: ***"), ("authorization:s3cret", "authorization: ***"),
        ("Cookie: a=s3cret", "Cookie: ***"), ("Set-Cookie: a=s3cret; Path=/", "Set-Cookie: ***"),
        ("X-Api-Key: s3cret", "X-Api-Key: ***"), ("Proxy-Authorization: Basic s3cret", "Proxy-Authorization: ***"),
        (":path: /a?token=s3cret", ":path: /a?token=***"), (":method: GET", ":method: GET"),
        ("Location: https://h/x?X-Amz-Signature=s3cret", "Location: https://h/x?X-Amz-Signature=***"),
        ("Location: /x?q=s3cret&c=1", "Location: /x?q=***&c=***"), ("location: ../x", "location: ../x"),
        ("Referer: https://h/x?q=s3cret#s3cret", "Referer: https://h/x?q=***"),
        ("Content-Location: x?s3cret", "Content-Location: x?***"),
        ("Refresh: 5; url=https://h/x?q=s3cret", "Refresh: 5; url=***//h/x?q=***"),
        ("GET /token/S3cret0a1b HTTP/1.1", "GET /token/*** HTTP/1.1"),
        (":path: /token/S3cret0a1b", ":path: /token/***"), ("location: /token/S3cret0a1b", "location: /token/***"),
        ("Link: <http://h/n?token=s3cret>; rel=next", "Link: <http://h/n?token=***>; rel=next"),
        ("X-Redirect-Url: http://u:s3cret@h/?sig=s3cret", "X-Redirect-Url: http://h/?sig=***"),
        ("X-Url: //u:s3cret@h/x", "X-Url: //h/x"), ("location: //u:s3cret@h/x", "location: //h/x"),
        ("X-Foo: Bearer s3cret=", "X-Foo: Bearer ***"), ("Set-Cookie2: s3cret", "Set-Cookie2: ***"),
        ("WWW-Authenticate: Negotiate s3cret==", "WWW-Authenticate: Negotiate ***"),
        ("WWW-Authenticate: Basic realm=\"r\"", "WWW-Authenticate: Basic realm=\"r\""),
        ("CONNECT bot123456:8443 HTTP/1.1", "CONNECT bot123456:8443 HTTP/1.1"),
        ("PASS s3cret", "PASS ***"), ("USER me", "USER me"), ("RETR a:b", "RETR a:b"), ("", ""), (":", ":"),
        ("CONNECT h:443 HTTP/1.1", "CONNECT h:443 HTTP/1.1"),
    ])
    func headsKeepSecrets(_ line: String, _ shown: String) {
        #expect(TraceLine.masked(.sent, line) == shown)
        #expect(TraceLine.masked(.received, line) == shown)
    }

    @Test(arguments: [
        ("Connected to h (127.0.0.1) port 80 (#0)", "Connected to h (127.0.0.1) port 80 (#0)"),
        ("h2h3 [authorization: Basic s3cret]", "h2h3 [authorization: ***]"),
        ("h2h3 [:path: /a?k=s3cret]", "h2h3 [:path: /a?k=***]"),
        ("[HTTP/2] [1] [cookie: s3cret]", "[HTTP/2] [1] [cookie: ***]"),
        (
            "Uses proxy env variable http_proxy == 'http://me:s3cret@proxy:1/'",
            "Uses proxy env variable http_proxy == 'http://proxy:1/'"
        ),
        ("from http://a:s3cret@h/ to 'https://h/?k=s3cret' now", "from http://h/ to 'https://h/?k=***' now"),
        ("opened for https://h/token/S3cret0a1b", "opened for https://h/token/***"),
        ("a [b] c", "a [b] c"), ("x]", "x]"), ("://", "://"), ("é://u:s3cret@h", "é://h"),
    ])
    func notesKeepSecrets(_ line: String, _ shown: String) {
        #expect(TraceLine.masked(.note, line) == shown)
    }
}
