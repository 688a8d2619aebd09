import Testing
import TransferModel

@testable import TransferCore

struct URLRulesTests {
    @Test func parts() throws {
        let url = try URLRules.parse("HTTPS://us%65r:p%40ss@Example.ORG:8443/a/b%20c.bin?q=1#frag")
        #expect(url.scheme == .https)
        #expect(url.host == "example.org")
        #expect(url.port == 8443)
        #expect(url.username == "user")
        #expect(url.password == "p@ss")
        #expect(url.path == "/a/b%20c.bin")
        #expect(url.query == "q=1")
        #expect(url.hostKey == "https://example.org:8443")
        #expect(url.requestURL == "https://example.org:8443/a/b%20c.bin?q=1")
        #expect(url.lastPathComponent == "b c.bin")
    }

    @Test(arguments: [
        ("http://h/", "http://h:80"), ("https://h", "https://h:443"), ("ftp://h/x", "ftp://h:21"),
        ("ftps://h/x", "ftps://h:990"), ("sftp://h/x", "sftp://h:22"), ("file:///x", "file://"), ("data:,x", "data:"),
        ("http://h:/", "http://h:80"), ("http://[::1]:81/", "http://[::1]:81"), ("http://H:080/", "http://h:80"),
    ])
    func hostKeys(_ text: String, _ key: String) throws {
        #expect(try URLRules.parse(text).hostKey == key)
    }

    @Test(
        arguments: [
            ("http://h/a/b%20c", "b c"), ("http://h/a/", nil), ("http://h", nil), ("http://h?x/y", nil),
            ("HTTP://u@h:1/a#b/c", "a"), ("file:///a/b", "b"), ("ftp://h/ä", "ä"), ("data:,a/b", nil),
        ] as [(String, String?)])
    func lastComponents(_ text: String, _ name: String?) throws {
        #expect(try URLRules.parse(text).lastPathComponent == name)
        #expect(URLRules.lastPathComponent(text) == name)
    }

    @Test(arguments: [
        "[::1]", "[fe80::1]", "[1:2:3:4:5:6:7:8]", "[::ffff:1.2.3.4]", "[2001:db8::]", "a_b.c",
        "127.0.0.1", "localhost.",
    ])
    func hosts(_ host: String) throws {
        let url = try URLRules.parse("http://\(host)/")
        #expect(url.requestURL == "http://\(host)/")
    }

    /// A server has one name, however it is written (RFC 5891).
    @Test(arguments: [
        ("http://bücher.example/x", "http://xn--bcher-kva.example/x"),
        ("https://u:p@BÜCHER.example:8443?q", "https://xn--bcher-kva.example:8443/?q"),
        ("ftp://faß.example/", "ftp://xn--fa-hia.example/"), ("http://日本。example/", "http://xn--wgv71a.example/"),
        ("http://a_ü.example/", "http://xn--a_-yka.example/"), ("http://１２７.0.0.1/", "http://127.0.0.1/"),
        ("http://b%C3%BCcher.example/x", "http://xn--bcher-kva.example/x"),
        ("https://u:p@B%c3%9Ccher.%65xample:8443?q", "https://xn--bcher-kva.example:8443/?q"),
        ("http://%65x%41mple.org/%41", "http://example.org/%41"),
        ("ftp://fa%C3%9F.example/", "ftp://xn--fa-hia.example/"),
    ])
    func hostsBeyondASCIIBecomeALabels(_ text: String, _ requested: String) throws {
        #expect(try URLRules.parse(text).requestURL == requested)
        #expect(try URLRules.parse(text).hostKey == URLRules.parse(requested).hostKey)
    }

    @Test func textBeyondASCIIIsEncoded() throws {
        #expect(try URLRules.parse("http://h/ä?ö").requestURL == "http://h/%C3%A4?%C3%B6")
        #expect(try URLRules.parse("http://h/a|b?{x}^`").requestURL == "http://h/a%7Cb?%7Bx%7D%5E%60")
        #expect(try URLRules.parse("http://h?q").requestURL == "http://h/?q")
    }

    @Test func files() throws {
        #expect(try URLRules.parse("file:///a%20b/c").filePath == "/a b/c")
        #expect(try URLRules.parse("file://localhost/x").filePath == "/x")
    }

    /// The text after an unknown scheme belongs to the helper (RFC 3986 section 3).
    @Test func schemesOfHelpers() throws {
        let url = try URLRules.parse("Demo+1://u:p%40@Host:70/a%20b?q#f")
        #expect(url.scheme == .helper && url.schemeName == "demo+1" && url.host == "host" && url.port == 70)
        #expect(url.username == "u" && url.password == "p@" && url.lastPathComponent == "a b")
        #expect(url.requestURL == "demo+1://Host:70/a%20b?q" && url.hostKey == "demo+1://host:70")
        let opaque = try URLRules.parse("pool:a/b?c#d")
        #expect(opaque.lastPathComponent == nil)
        #expect(opaque.requestURL == "pool:a/b?c" && opaque.host.isEmpty && opaque.hostKey == "pool://")
        #expect(try URLRules.parse("demo:///x").requestURL == "demo:///x")
        #expect(try URLRules.parse("helper://h/").schemeName == "helper")
        for name in ["..", ".", "", "a/b", "A", "1a", "a b", "é", String(repeating: "a", count: 65)] {
            #expect(!URLScheme.isName(name), "\(name)")
        }
        #expect(URLScheme.isName("a..") && URLScheme.isName("z39.50r"))
    }

    @Test(arguments: [
        "", "example.org/x", "//h/x", "1gopher://h/", "go_pher://h/", "gopher:", "gopher://h:x/", "http:/h", "http:h",
        "http://", "http:///x",
        "http://h:0/", "http://h:65536/", "http://h:x/", "http://h:-1/", "http://:80/", "http://a b/", "http://h/a b",
        "http://h/\r\nX: y", "http://h/\n", "http://h/\u{0}", "http://h\u{7F}/", "http://h/\t", "http://[::1/",
        "http://[::g]/", "http://[1::2::3]/", "http://[1:2:3]/", "http://[::1]x/", "http://::1/", "http://h%00/",
        "http://h..x/", "http://.h/", "http://u%0d:p@h/", "http://u:%00@h/", "ftp://h/%0d%0aDELE", "file://other/x",
        "file:///", "file:///a%00", "data:x", "http://h/<x>", "http://h/\"", "http://h\\x/", "http://é\u{2003}h/",
        "http://☃.net/", "http://\u{2100}.ü/", "http://ü:x/", "http://ü..x/", "http://ü／b/",
        "http://b%FCcher.example/", "http://b%25C3%25BCcher.example/", "http://h%2F/", "http://h%3A80/",
        "http://u%40h/",
        "http://%5B::1%5D/", "http://h%/", "http://h%zz/", "http://%2e%2e/", "http://h%C3%BC%00/", "http://h%20/",
    ])
    func refuses(_ text: String) {
        let error = #expect(throws: TransferError.self) { try URLRules.parse(text) }
        #expect(error?.code == .badURL)
        #expect(error?.message.hasPrefix("The URL is refused: ") == true)
    }

    @Test func refusalsKeepSecrets() {
        for url in ["http://u:secret@h:99999/", "http://u:secret@h x/", "go_pher://u:secret@h/"] {
            let error = #expect(throws: TransferError.self) { try URLRules.parse(url) }
            #expect(error?.message.contains("secret") == false)
        }
    }

    @Test func longURLsAreRefusedButLongDataIsNot() throws {
        let long = String(repeating: "x", count: 20_000)
        #expect(throws: TransferError.self) { try URLRules.parse("http://h/" + long) }
        #expect(try URLRules.parse("data:," + long).scheme == .data)
    }

    @Test(arguments: [
        ("https://u:p@h/x", "https://h/x"),
        ("https://h/x?sig=abc&a=&flag&&k=v=w", "https://h/x?sig=***&a=***&***&&k=***"),
        ("https://h/a;jsessionid=s;v=1/b;w?x=y", "https://h/a;jsessionid=***;v=***/b;w?x=***"), ("h;=/;", "h;=***/;"),
        ("https://h/x#frag", "https://h/x"), ("data:text/plain,secret", "data:…"), ("DATA:,x", "data:…"),
        ("not a url", "not a url"), ("http://h/a\r\nb", "http://h/ab"), ("http://u@h@x/", "http://x/"), ("", ""),
    ])
    func logsKeepSecrets(_ text: String, _ redacted: String) {
        #expect(URLRules.redacted(text) == redacted)
    }

    @Test(arguments: [
        ("https://u:p@h/x?part=2&X-Amz-Signature=abc&x=1", "https://h/x?part=2&X-Amz-Signature=***&x=1"),
        ("https://h/x?sig=a%2Fb&se=2030#t", "https://h/x?sig=***&se=2030#***"), ("https://h/x#key", "https://h/x#***"),
        ("https://h/x?access%5Ftoken=t&flag&&a=b", "https://h/x?access%5Ftoken=***&flag&&a=b"),
        ("https://h/sig=1", "https://h/sig=1"), ("https://h/x?sign=1", "https://h/x?sign=1"),
        ("/x?token=1", "/x?token=***"),
        ("/x?code=1&encode=2&hdnts=3&sid=4&side=5", "/x?code=***&encode=2&hdnts=***&sid=***&side=5"),
        ("https://h/a;jsession=s;v=1/b", "https://h/a;jsession=***;v=1/b"), ("", ""),
    ])
    func answersKeepCredentials(_ text: String, _ masked: String) {
        #expect(URLRules.withoutCredentials(text) == masked)
    }

    @Test(arguments: [
        (
            "https://h/f.iso?hdnts=st=1~exp=1700000000~acl=/*~hmac=abc/d09f8e7d6c5b4a&part=2&v=1.2.3",
            "https://h/f.iso?hdnts=***&part=2&v=1.2.3"
        ),
        (
            "https://h/f?__token__=x&hdnea=e9f8a7b6c5&X-Amz-Date=20240101T000000Z&X-Amz-Expires=3600",
            "https://h/f?__token__=***&hdnea=***&X-Amz-Date=***&X-Amz-Expires=3600"
        ),
        (
            "https://h/hdntl=exp=1~acl=%2f*~hmac=0a1b2c3d4e/dir/file-1.0a2b3c4d.zip;jsessionid=A1B2C3",
            "https://h/hdntl=***/dir/file-1.0a2b3c4d.zip;jsessionid=***"
        ),
        (
            "https://h/x?response-content-type=application%2Foctet-stream&filename=disk-12.5.0-amd64.iso&id=123456789",
            "https://h/x?response-content-type=application%2Foctet-stream&filename=disk-12.5.0-amd64.iso&id=123456789"
        ),
        ("https://u:p@h:8/x?aB3dE5fG7hJ9kL1m", "https://h:8/x?***"), ("https://h/x#t=aB3dE5fG7", "https://h/x#t=***"),
        ("/next?to=http://other/&c=QwErTyUiOpAs", "/next?to=http://other/&c=***"),
        ("https://h/x?a&b=", "https://h/x?a&b="), ("//u:p@h/x?sig=1", "//h/x?sig=***"),
        ("https://h/x?to=http://u:p@o/&v=1", "https://h/x?to=***&v=1"),
    ])
    func redirectsShowPlainValuesOnly(_ text: String, _ masked: String) {
        #expect(URLRules.withoutSecrets(text) == masked)
    }

    @Test(arguments: [
        ("/h/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.SECRETsig", "/h/***"),
        ("/h/eyJhbGciOiJub25lIn0%2EeyJzdWIiOiIxIn0%2E/f.iso?v=1", "/h/***/f.iso?v=1"),
        ("/h/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "/h/***"),
        ("/file/bot12%3AAAHdqTcvCH1vGWJxfSeo/documents/f.pdf", "/file/***/documents/f.pdf"),
        ("/h/token/SuperSecret9Xk2LmQ8", "/h/token/***"),
        ("/h/Access%5FToken//0a1b2c3d4e/f", "/h/Access%5FToken//***/f"),
        ("/token;v=1/0a1b2c3d4e", "/token;v=1/***"),
        // Servers name files by digests, and folders as they like.
        ("/h/0123456789abcdef0123456789abcdef", "/h/0123456789abcdef0123456789abcdef"),
        ("/auth/login", "/auth/login"), ("/tokenizer/model-1.2.json", "/tokenizer/model-1.2.json"),
        ("/token=a/f0a1b2c3", "/token=***/f0a1b2c3"),
        ("/robot1:AAHdqTcvCH1vGWJxfSeo", "/robot1:AAHdqTcvCH1vGWJxfSeo"),
        ("/bot1:8080/x", "/bot1:8080/x"), ("/eyJhbGciOiJIUzI1NiJ9.zip", "/eyJhbGciOiJIUzI1NiJ9.zip"),
    ])
    func redirectsShowNoCredentialsInThePath(_ path: String, _ masked: String) {
        #expect(URLRules.withoutSecrets("https://h" + path) == "https://h" + masked)
        #expect(URLRules.withoutSecrets(path) == masked)
    }

    @Test(arguments: [
        ("http://u:SRVpw@o.org/?sig=SRVxru", "http://o.org/?sig=***"),
        ("<http://o.org/n?token=a1>; rel=next", "<http://o.org/n?token=***>; rel=next"),
        (
            "<http://a/?token=1>; rel=\"next\", <http://u:p@b/f>; rel=duplicate; pri=1",
            "<http://a/?token=***>; rel=\"next\", <http://b/f>; rel=duplicate; pri=1"
        ),
        ("a,http://u:p@a/,http://v:q@b/?c=1", "a,http://a/,http://b/?c=1"),
        ("http://a/?b=c,0A1b2C3d4E", "http://a/?b=c,***"),
        ("{\"url\":\"https://r/?s=0A1b2C3d4E\"}", "{\"url\":\"https://r/?s=***\"}"),
        ("</n?token=1>; rel=next", "</n?token=1>; rel=next"), ("?token=1", "?token=1"),
        ("//u:p@h/x?sig=1", "//h/x?sig=***"), ("<//u:p@h/x>; rel=next", "<//h/x>; rel=next"),
        ("1; url=//u:p@h/x", "1; url=//h/x"), ("url=//u:p@h/?a=http://v:q@b/", "url=//h/?a=***"),
        ("text/html; q=0A1b2C3d4E", "text/html; q=0A1b2C3d4E"), ("", ""),
    ])
    func urlsInFieldsShowNoSecrets(_ value: String, _ masked: String) {
        #expect(URLRules.maskingURLs(in: value) == masked)
    }

    @Test(arguments: [
        ("</n?token=1>; rel=next, <?b=0A1b2C3d4E>; rel=prev", "</n?token=***>; rel=next, <?b=***>; rel=prev"),
        ("<http://u:p@h/n?token=1>; rel=next", "<http://h/n?token=***>; rel=next"), ("?token=1", "?token=***"),
        ("<//u:p@h/n?token=1>; rel=next", "<//h/n?token=***>; rel=next"),
        ("</f>; rel=\"next\"; title=\"Two words\"", "</f>; rel=\"next\"; title=\"Two words\""), ("", ""),
    ])
    func referencesInFieldsShowNoSecrets(_ value: String, _ masked: String) {
        #expect(URLRules.maskingURLs(in: value, holdsReferences: true) == masked)
    }

    @Test func onlyUserInfoIsRemoved() {
        #expect(URLRules.withoutUserInfo("https://u:p@h/x?a=b@c") == "https://h/x?a=b@c")
        #expect(URLRules.withoutUserInfo("https://h/x@y") == "https://h/x@y")
        #expect(URLRules.withoutUserInfo("u@h/x") == "u@h/x")
        #expect(URLRules.withoutUserInfo("https://a@b:c@h?x@y") == "https://h?x@y")
        // A combining mark after a sign does not hide the sign.
        #expect(URLRules.withoutUserInfo("https://u:p@\u{301}h/x") == "https://\u{301}h/x")
    }

    /// Most URLs are parsed in one pass. The result must be the same as that of the general rules.
    @Test(arguments: [
        "http://h/", "https://h/a/b.bin", "http://127.0.0.1:40123/counted/file-000123",
        "https://a.example.:8443/~u/x_y-z.tar.gz",
        "http://h:8080/a//b/", "https://h:80/x", "http://h:443/x", "http://h/./../a", "http://h/.hidden", "http://A/x",
        "HTTP://h/x",
        "http://h", "http://h:/x", "http://h:80/x", "http://h:080/x", "https://h:443/", "http://h:0/x",
        "http://h:65535/x",
        "http://h:65536/x", "http://h:123456/x", "http://h:1", "http://h:1x/", "http://h/a%20b", "http://h/a?b",
        "http://h/a#b",
        "http://u@h/x", "http://.h/x", "http://h..i/x", "http:///x", "http://[::1]/x", "http://h/a b", "http://h/ä",
        "http://ä/x",
        "ftp://h/x", "https:/h/x", "https:h/x", "http", "https://", "http://\(String(repeating: "h", count: 254))/",
        "http://h/\(String(repeating: "x", count: 9000))", "httpx://h/abc", "http://h/\u{7F}", "http://h/a\u{301}",
    ])
    func plainURLsAreReadAsTheOthers(_ text: String) {
        let any = Result { try URLRules.parseAny(text) }
        let name = (try? any.get()).flatMap(\.lastPathComponent)
        if let plain = ParsedURL(plain: text) { #expect(plain == (try? any.get())) }
        #expect((try? URLRules.parse(text)) == (try? any.get()))
        if (try? any.get()) != nil { #expect(URLRules.lastPathComponent(text) == name) }
    }

    @Test func usualURLsArePlain() {
        #expect(ParsedURL(plain: "https://example.org/pool/main/l/linux_6.1-1.deb") != nil)
        #expect(ParsedURL(plain: "http://127.0.0.1:40123/counted/file-000123")?.hostKey == "http://127.0.0.1:40123")
        #expect(ParsedURL(plain: "http://h/a?b") == nil)
    }
}
