import Testing
import TransferCore
import TransferModel

@testable import CurlEngine

@Suite struct RequestStateTests {
    private func request(
        _ url: String = "https://a.example/dir/file?q#part", _ change: (inout Exchange) -> Void = { _ in }
    ) throws -> RequestState {
        var exchange = Exchange(url: url, judge: Judge.taking())
        exchange.headers = [
            HeaderField("Accept-Encoding", "identity"), HeaderField("Range", "bytes=5-"),
            HeaderField("If-Range", "\"e\""), HeaderField("User-Agent", "x"), HeaderField("X-Api-Key", "secret"),
            HeaderField("Cookie", "secret"),
        ]
        change(&exchange)
        return try RequestState(exchange, url: #require(CurlURL(exchange.url)))
    }

    private func names(_ request: RequestState) -> [String] { request.headers.map(\.name) }

    @Test func resolvesRelativeLocationsAndDropsFragments() throws {
        var state = try request()
        #expect(state.url.text == "https://a.example/dir/file?q")
        try state.follow(status: 302, location: "../other file#x")
        #expect(state.url.text == "https://a.example/other%20file")
        try state.follow(status: 302, location: "//b.example/z")
        #expect(state.url.text == "https://b.example/z")
        #expect(state.redirects == 2)
    }

    @Test func keepsEverythingWithinTheOrigin() throws {
        var state = try request { $0.network.username = "u" }
        try state.follow(status: 307, location: "https://A.example:443/next")
        #expect(names(state).contains("X-Api-Key"))
        #expect(state.credentials?.user == "u")
    }

    /// RFC 6265bis section 5.8.1: there is one Cookie field, and the caller's cookies come first.
    @Test func storedCookiesFollowTheCallers() throws {
        var state = try request { $0.headers = [HeaderField("cookie", "a=1; b"), HeaderField("Cookie", " c=2")] }
        #expect(state.headers.namesOfCookies == ["a", "c"])
        state.storedCookies = "k=v"
        #expect(state.allHeaders == [HeaderField("Cookie", "a=1; b;  c=2; k=v")])
        try state.follow(status: 302, location: "https://b.example/")
        #expect(state.allHeaders == [HeaderField("Cookie", "k=v")])
    }

    /// A credential that a client gave for one origin goes to no other origin, and it comes before the task's own
    /// credential.
    @Test func anAnsweredCredentialIsForItsOrigin() throws {
        func known(_ origin: String) -> NetworkOptions.OriginCredential {
            NetworkOptions.OriginCredential(origin: origin, username: "answered", password: "p")
        }
        var state = try request {
            $0.network.answered = [known("https://b.example:443")]
            $0.network.username = "own"
        }
        #expect(state.credentials?.user == "own")
        try state.follow(status: 302, location: "https://b.example/x")
        #expect(state.credentials?.user == "answered")
        try state.follow(status: 302, location: "https://c.example/x")
        #expect(state.credentials == nil)
        let own = try request {
            $0.network.answered = [known("https://a.example:443")]
            $0.headers.append(HeaderField("Authorization", "Bearer t"))
        }
        #expect(own.credentials?.user == "answered" && !names(own).contains("Authorization"))
    }

    /// A credential for one realm is not sent where a redirect leads within the server, unless that URL named the realm.
    @Test func aCredentialForARealmStaysThere() throws {
        var known = NetworkOptions.OriginCredential(origin: "https://a.example:443", username: "u", password: "p")
        known.urls = ["https://a.example/named"]
        var state = try request { $0.network.answered = [known] }
        #expect(state.credentials?.user == "u")
        try state.follow(status: 302, location: "/other")
        #expect(state.credentials == nil)
        try state.follow(status: 302, location: "/named")
        #expect(state.credentials?.user == "u")
    }

    @Test(arguments: ["https://b.example/", "http://a.example/", "https://a.example:8443/", "https://sub.a.example/"])
    func dropsWhatIdentifiesAcrossOrigins(target: String) throws {
        var state = try request {
            $0.network.username = "u"
            $0.network.password = "p"
        }
        try state.follow(status: 302, location: target)
        #expect(names(state) == ["Accept-Encoding", "Range", "If-Range", "User-Agent"])
        #expect(state.credentials == nil)
        // The client certificate is not sent to a foreign origin.
        #expect(state.isForeign)
        var netrc = try request { $0.network.netrcPath = "/n" }
        try netrc.follow(status: 302, location: target)
        #expect(netrc.netrcPath == nil)
    }

    /// A PATCH without its offset would be another request. The fields that the protocol set are kept. Similar fields
    /// of the caller are not.
    @Test func keepsWhatTheProtocolSetAcrossOrigins() throws {
        let own = [
            HeaderField("Tus-Resumable", "1.0.0"), HeaderField("Upload-Offset", "7"), HeaderField("Repr-Digest", "x"),
            HeaderField("Content-Type", "application/offset+octet-stream"),
        ]
        var state = try request {
            $0.method = "PATCH"
            $0.payload = .bytes([1])
            $0.headers.append(HeaderField("Upload-Key", "secret"))
            $0.headers.append(HeaderField("Tus-Token", "secret"))
            $0.ownHeaders = own
        }
        try state.follow(status: 307, location: "https://b.example/")
        #expect(state.ownHeaders == own)
        #expect(names(state) == ["Accept-Encoding", "Range", "If-Range", "User-Agent"])
        #expect(state.allHeaders.suffix(4) == own[...])
    }

    @Test func aGetDescribesNoContent() throws {
        var state = try request {
            $0.method = "POST"
            $0.payload = .bytes([1])
            $0.ownHeaders = [
                HeaderField("Content-Type", "a/b"), HeaderField("Repr-Digest", "x"), HeaderField("Own", "1"),
            ]
        }
        #expect(!state.becameGET)
        try state.follow(status: 303, location: "/done")
        #expect(state.ownHeaders.map(\.name) == ["Own"])
        #expect(state.becameGET)
    }

    @Test func doesNotReturnWhatWasDropped() throws {
        var state = try request { $0.network.bearer = "token" }
        try state.follow(status: 302, location: "https://b.example/")
        try state.follow(status: 302, location: "https://a.example/")
        #expect(!names(state).contains("Authorization"))
        #expect(!names(state).contains("X-Api-Key"))
    }

    @Test func ignoresUserInfoOfARedirect() throws {
        var state = try request()
        try state.follow(status: 302, location: "https://eve:pw@b.example/")
        #expect(state.credentials == nil)
        #expect(state.url.text == "https://b.example/")
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://a.example/", "data:text/plain,x", "gopher://x/", "javascript:0", ""])
    func refusesOtherSchemes(target: String) throws {
        var state = try request("https://a.example")
        let error = #expect(throws: TransferError.self) {
            // An empty reference is the page itself, whose scheme is http.
            if target.isEmpty { throw TransferError(.httpProtocol, "") }
            try state.follow(status: 302, location: target)
        }
        #expect(error?.code == .httpProtocol)
    }

    @Test(arguments: [
        ("http://a.example/\u{1}x", "control character"), ("/x\u{7}y", "control character"),
        ("http://127.0.0.1:0/", "port 0"), ("//127.0.0.1:0/x", "port 0"), ("http://[::1/", "cannot be read"),
    ])
    func saysWhatIsWrongWithATarget(target: String, what: String) throws {
        var state = try request("http://a.example/y")
        let error = #expect(throws: TransferError.self) { try state.follow(status: 302, location: target) }
        #expect(error?.code == .badURL && error?.retryable == false)
        #expect(error?.message.contains(what) == true)
    }

    @Test func refusesPlaintextWhereTheSessionSaysSo() throws {
        var state = try request { $0.network.allowsPlaintext = false }
        let error = #expect(throws: TransferError.self) {
            try state.follow(status: 301, location: "http://a.example/")
        }
        #expect(error?.code == .plaintextRefused)
        let first = #expect(throws: TransferError.self) {
            _ = try request("ftp://a.example/x") { $0.network.allowsPlaintext = false }
        }
        #expect(first?.code == .plaintextRefused)
    }

    /// The redirects of earlier attempts, which a client accepted, count too.
    @Test(arguments: [0, 15, 20]) func endsAtTheLimit(before: Int) throws {
        var state = try request("http://a.example/x") { $0.network.redirectsBefore = before }
        for _ in before..<20 { try state.follow(status: 302, location: "/again") }
        let error = #expect(throws: TransferError.self) { try state.follow(status: 302, location: "/again") }
        #expect(error?.code == .httpRedirectLimit)
        #expect(error?.message.contains("more than 20 times") == true)
    }

    @Test(
        arguments: [
            (301, "POST", nil), (302, "POST", nil), (303, "POST", nil), (303, "PUT", nil), (301, "PUT", "PUT"),
            (307, "POST", "POST"), (308, "POST", "POST"), (303, "HEAD", "HEAD"), (302, "HEAD", "HEAD"),
            (303, "GET", nil), (303, "DELETE", nil), (307, "GET", "GET"),
        ] as [(Int, String, String?)])
    func rewritesTheMethod(status: Int, method: String, expected: String?) throws {
        var state = try request {
            $0.method = method
            $0.payload = .bytes([1, 2])
            $0.headers.append(HeaderField("Content-Type", "text/plain"))
        }
        try state.follow(status: status, location: "/next")
        #expect(state.method == expected)
        #expect(state.sendsPayload == (expected != nil && method != "HEAD"))
        #expect(names(state).contains("Content-Type") == (expected != nil))
    }

    /// An upload is complete only by the answer to a request that carried its body.
    /// - Parameter expected: the next method; nil if the redirect is refused.
    @Test(
        arguments: [
            (301, "PUT", "https://b.example:8443/dir/file?q", "PUT"),
            (302, "POST", "http://a.example/dir/file/?q", "POST"),
            (302, "PATCH", "file?q", "PATCH"), (301, "POST", "/dir/file", nil), (301, "PUT", "/dir/file?r", nil),
            (302, "PUT", "/login", nil), (302, "POST", "/login", nil), (302, "PATCH", "/", nil),
            (307, "POST", "/x", "POST"), (308, "PUT", "https://b.example/x", "PUT"), (303, "POST", "/x", "GET"),
            (303, "PUT", "/x", nil), (303, "PATCH", "file?q", nil),
        ] as [(Int, String, String, String?)], [false, true])
    func anUploadKeepsItsBody(_ row: (Int, String, String, String?), isSentWhole: Bool) throws {
        let (status, method, location, expected) = row
        let isReceipt = status == 303 && method == "POST"
        var state = try request {
            ($0.method, $0.payload, $0.isUpload) = (method, .bytes([1]), true)
        }
        do throws(TransferError) {
            try state.follow(status: status, location: location, isSentWhole: isSentWhole)
            #expect(state.effectiveMethod == expected && (isSentWhole || !isReceipt))
            #expect(state.sendsPayload == !isReceipt)
        } catch {
            #expect(expected == nil || isReceipt && !isSentWhole)
            #expect(error.code == .httpProtocol && error.retryable == false, "\(error)")
        }
    }

    /// A client that is asked may decide otherwise.
    @Test func aClientIsToldWhatLosesAnUpload() throws {
        for (status, method, loses) in [
            (303, "PUT", true), (302, "POST", true), (302, "PUT", false), (303, "POST", false),
        ] {
            var state = try request {
                ($0.method, $0.payload, $0.isUpload, $0.redirects) = (method, .bytes([1]), true, .ask)
            }
            try state.follow(status: status, location: "/login")
            #expect(state.losesUpload == loses, "\(status) \(method)")
        }
    }

    @Test func prefersTheExplicitHeaderThenBearerThenNameThenNetrc() throws {
        func state(_ change: (inout Exchange) -> Void) throws -> RequestState {
            try request("https://in:url@a.example/") { exchange in
                exchange.network.netrcPath = "/n"
                change(&exchange)
            }
        }
        let explicit = try state {
            $0.headers.append(HeaderField("authorization", "Own x"))
            $0.network.bearer = "b"
            $0.network.username = "u"
        }
        #expect(names(explicit).filter { $0.lowercased() == "authorization" }.count == 1)
        #expect(explicit.credentials == nil)
        #expect(explicit.netrcPath == nil)
        let bearer = try state {
            $0.network.bearer = "b"
            $0.network.username = "u"
        }
        #expect(bearer.headers.last == HeaderField("Authorization", "Bearer b"))
        #expect(bearer.credentials == nil)
        let named = try state { $0.network.username = "u" }
        #expect(named.credentials == RequestState.Credentials(user: "u", password: ""))
        let inURL = try state { _ in }
        #expect(inURL.credentials == RequestState.Credentials(user: "in", password: "url"))
        #expect(inURL.url.text == "https://a.example/")
        let netrc = try request("https://a.example/") { $0.network.netrcPath = "/n" }
        #expect(netrc.netrcPath == "/n")
    }
}
