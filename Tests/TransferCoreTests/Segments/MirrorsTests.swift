import Testing
import TransferModel

@testable import TransferCore

struct MirrorsTests {
    private func spec(_ mirrors: [String]) -> TaskSpec {
        var spec = TaskSpec()
        spec.url = "https://Example.org/f"
        spec.mirrors = mirrors
        return spec
    }

    @Test func eachPlaceIsThereOnce() {
        let mirrors = Mirrors(
            spec(["https://m/f", "https://example.org:443/f", "https://m:443/f#part", "no URL", "ftp://m/f"]))
        #expect(mirrors.places.map(\.name) == [nil, "https://m/f", "ftp://m/f"])
        #expect(Mirrors(spec([])).count == 1)
    }

    @Test func heldBytesAreOfThePlaceThatTheirCheckpointNames() {
        let mirrors = Mirrors(spec(["https://u:p@m/f"]))
        var held = checkpoint(5)
        #expect(mirrors.place(of: nil) == nil)
        #expect(mirrors.place(of: held) == 0)
        held.mirror = "https://m/f"
        #expect(mirrors.place(of: held) == 1)
        held.mirror = "https://gone/f"
        #expect(mirrors.place(of: held) == nil)
    }

    /// Held bytes stay with the mirror that sent them, whatever its role in the task is.
    @Test func heldBytesKeepTheirPlaceWhenATaskChanges() {
        let (mirror, own) = ("https://m/f", "https://example.org/f")
        var held = checkpoint(5)
        func renamed(_ url: String, _ mirrors: [String]) -> Checkpoint? {
            var new = spec(mirrors)
            new.url = url
            return Mirrors.renamed(held, from: spec([mirror]), to: new)
        }
        // A new URL has to prove that it has the same file. The old URL may be a mirror now.
        #expect(renamed("https://new/f", []) == nil)
        #expect(renamed("https://new/f", [own])?.mirror == own)
        held.total = 5
        #expect(renamed("https://new/f", [])?.offset == 4, "of a whole file nothing would be asked")
        #expect(renamed("https://new/f", [own])?.offset == 5)
        #expect(renamed(own, []) == nil)
        held.mirror = mirror
        #expect(renamed(own, [mirror]) == nil)
        #expect(renamed(own, [])?.offset == 4)
        #expect(renamed(mirror, [])?.mirror == .some(nil))
    }

    private func secret() -> StrategyRequest {
        var request = request { spec in
            spec.headers = [
                HeaderField("X-Api-Key", "k"), HeaderField("User-Agent", "me"), HeaderField("accept", "*/*"),
            ]
        }
        request.sessionHeaders = [HeaderField("Authorization", "Basic x"), HeaderField("Accept-Language", "de")]
        request.network.username = "u"
        request.network.password = "p"
        request.network.bearer = "t"
        request.network.netrcPath = "/n"
        request.network.proxy = "http://proxy"
        request.network.clientCertificate = ClientCertificate(certificate: "/c")
        request.network.certificates.authorities = [1]
        request.network.certificates.certificate = [2]
        request.network.certificates.key = [3]
        return request
    }

    @Test func nothingThatSaysWhoAsksGoesToAnotherOrigin() {
        for url in ["https://mirror.example.org/f", "http://example.org/f", "https://example.org:8443/f"] {
            let directed = secret().directed(to: Mirrors.Place(url: url, name: url))
            #expect(directed.spec.url == url && directed.mirror == url)
            #expect(directed.spec.headers?.map(\.name) == ["User-Agent", "accept"])
            #expect(directed.sessionHeaders.map(\.name) == ["Accept-Language"])
            #expect(directed.network.username == nil && directed.network.password == nil)
            #expect(directed.network.bearer == nil && directed.network.clientCertificate == nil)
            #expect(directed.network.netrcPath == nil)
            let texts = directed.network.certificates
            #expect(texts.authorities == [1] && texts.certificate == nil && texts.key == nil)
            #expect(directed.network.proxy == "http://proxy")
        }
    }

    @Test func redirectsOfMirrorsAreFollowedIfNobodyDecidesAboutTheTasksOwn() {
        for (rule, mirrors) in [(RedirectRule.follow, RedirectRule.follow), (.ask, .refuse), (.refuse, .refuse)] {
            var request = secret()
            request.redirects = rule
            let name = "https://mirror.example.org/f"
            #expect(request.directed(to: Mirrors.Place(url: name, name: name)).redirects == mirrors)
            #expect(request.directed(to: Mirrors.Place(url: name)).redirects == rule)
        }
    }

    @Test func anotherPathOfTheSameOriginIsAskedAlike() {
        let name = "https://example.org/other"
        let directed = secret().directed(to: Mirrors.Place(url: name, name: name))
        #expect(directed.spec.headers?.count == 3 && directed.network.bearer == "t")
        #expect(secret().directed(to: Mirrors.Place(url: "https://example.org/file.bin")).mirror == nil)
    }

    @Test func bytesOfAnotherPlaceCountUnderADigestOnly() {
        let held = checkpoint(5, of: 100, etag: "\"a\"")
        var mirror = request("https://m/f")
        mirror.mirror = "https://m/f"
        #expect(mirror.continuing(held, sharesBytes: false).checkpoint == nil)
        let shared = mirror.continuing(held, sharesBytes: true).checkpoint
        #expect(shared?.offset == 5 && shared?.validators == Validators(), "its own validators say nothing there")
        var own = held
        own.mirror = "https://m/f"
        #expect(mirror.continuing(own, sharesBytes: false).checkpoint == own)
        #expect(request().continuing(held, sharesBytes: false).checkpoint == held)
        #expect(mirror.continuing(checkpoint(5), sharesBytes: true).checkpoint == nil, "a length is needed")
        #expect(mirror.continuing(checkpoint(5, of: 9, coding: "gzip"), sharesBytes: true).checkpoint == nil)
    }

    @Test func anFTPMirrorIsMarkedToo() throws {
        var mirror = request("ftp://m/f")
        mirror.mirror = "ftp://m/f"
        var strategy = try StrategyRegistry.download(for: mirror)
        _ = strategy.next(after: nil)
        let probed = ExchangeOutcome(end: .finished, head: ResponseHead(url: "ftp://m/f", size: 7))
        let fetch = strategy.next(after: probed).exchange
        guard case .accept(let accepted)? = fetch?.judge.judge(ResponseHead(url: "ftp://m/f", size: 7)) else {
            Issue.record("refused")
            return
        }
        #expect(accepted.mirror == "ftp://m/f")
    }

    @Test func linksAreTakenOnceAndNeverByPlainTextOfAnEncryptedFile() {
        let links = [
            HeaderField("Link", "<https://a/f>; rel=duplicate, <http://b/f>; rel=duplicate"),
            HeaderField("Link", "<https://a/f>; rel=\"duplicate\", <https://example.org/f>; rel=duplicate"),
        ]
        var encrypted = Mirrors(spec(["https://m/f"]))
        encrypted.learn(from: links, at: "http://example.org/f")
        #expect(encrypted.places.map(\.name) == [nil, "https://m/f", "https://a/f"])
        var plain = spec([])
        plain.url = "http://example.org/f"
        var open = Mirrors(plain)
        open.learn(from: links, at: "http://example.org/f")
        #expect(open.places.map(\.name) == [nil, "https://a/f", "http://b/f", "https://example.org/f"])
        var redirected = Mirrors(plain)
        redirected.learn(from: links, at: "https://example.org/f")
        #expect(!redirected.places.map(\.name).contains("http://b/f"))
    }

    @Test func onlySoManyLinksAreTaken() {
        var mirrors = Mirrors(spec([]))
        let links = (0..<100).map { HeaderField("Link", "<https://m\($0)/f>; rel=duplicate") }
        mirrors.learn(from: links, at: "https://example.org/f")
        #expect(mirrors.count == 1 + Mirrors.learntLimit)
    }

    @Test func whatAMirrorAnswersIsMarked() throws {
        var mirror = request("https://m/f")
        mirror.mirror = "https://m/f"
        for request in [mirror, request()] {
            var strategy = try StrategyRegistry.download(for: request)
            let exchange = strategy.next(after: nil).exchange
            guard case .accept(let accepted)? = exchange?.judge.judge(head(200, ["Content-Length": "7"])) else {
                Issue.record("refused")
                continue
            }
            #expect(accepted.mirror == request.mirror && accepted.truncate)
        }
    }
}
