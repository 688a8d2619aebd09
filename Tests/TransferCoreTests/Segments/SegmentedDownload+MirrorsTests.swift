import Testing
import TransferModel

@testable import TransferCore

/// Parts of one file from several mirrors.
struct SegmentedDownloadMirrorsTests {
    private static let size = 6 << 20
    private static let right = SegmentedDownloadTests.version(1)
    private static let wrong = SegmentedDownloadTests.version(2)
    private static let own = "https://example.org/file.bin"
    private static let mirror = "https://mirror.example.org/copy"
    private static let third = "https://third.example.org/copy"

    private func parts(
        _ seed: UInt64 = 1, mirrors: [String] = [mirror], hasDigest: Bool = true, mustNotMix: Bool = false,
        fillsGaps: Bool = false, _ answer: @escaping (Int, Exchange) -> ScriptedParts.Answer? = { _, _ in nil }
    ) -> ScriptedParts {
        var parts = ScriptedParts(
            ["\"v1\"": Self.right, "\"m\"": Self.right, "\"t\"": Self.right, "\"v2\"": Self.wrong], seed: seed)
        parts.etags = [Self.mirror: "\"m\"", Self.third: "\"t\""]
        parts.answer = answer
        let base = request(Self.own) { spec in
            spec.mirrors = mirrors
            if hasDigest { spec.checksum = Checksum(algorithm: .sha256, value: "00") }
        }
        parts.others = OtherMirrors(
            base: base, places: mirrors.map { Mirrors.Place(url: $0, name: $0) }, hasDigest: hasDigest,
            mustNotMix: mustNotMix, fillsGaps: fillsGaps)
        return parts
    }

    private func urls(_ parts: ScriptedParts) -> Set<String> { Set(parts.exchanges.map(\.url)) }

    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6])
    func partsComeFromAllPlacesEachBoundToItsOwnVersion(_ seed: UInt64) throws {
        var origin = parts(seed, mirrors: [Self.mirror, Self.third])
        let attempt = try origin.attempt(.fixed(6))
        #expect(attempt.arrival != nil && origin.holdsExactly == Self.right)
        #expect(origin.overwritten == 0 && origin.bytesSent == Self.size)
        #expect(urls(origin) == [Self.own, Self.mirror, Self.third])
        for url in [Self.mirror, Self.third] {
            let asked = origin.exchanges.filter { $0.url == url }
            #expect(asked.first?.header("if-range") == nil, "its version is not known yet")
            #expect(asked.dropFirst().allSatisfy { $0.header("if-range") == origin.etags[url] })
        }
        for exchange in origin.exchanges.dropFirst() where exchange.url == Self.own {
            #expect(exchange.header("if-range") == "\"v1\"")
        }
    }

    @Test func withoutADigestOnlyOnePlaceIsAsked() throws {
        for var origin in [parts(hasDigest: false), parts(mustNotMix: true)] {
            let attempt = try origin.attempt(.fixed(4))
            #expect(attempt.arrival != nil && urls(origin) == [Self.own])
        }
    }

    @Test func aDigestOfTheServerIsEnough() throws {
        let digest = HeaderField("Repr-Digest", "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        var origin = parts(hasDigest: false)
        origin.fields[Self.own] = [digest]
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.arrival?.serverDigests[.sha256] != nil && urls(origin) == [Self.own, Self.mirror])
        var weak = parts(hasDigest: false)
        weak.fields[Self.own] = [HeaderField("Digest", "md5=1B2M2Y8AsgTpgAmY7PhCfg==")]
        _ = try weak.attempt(.fixed(4))
        #expect(urls(weak) == [Self.own])
    }

    @Test func linksOfTheFirstAnswerAddPlaces() throws {
        let links = HeaderField(
            "Link", "<\(Self.mirror)>; rel=duplicate, <http://plain.example.org/f>; rel=duplicate, </x>; rel=next")
        var origin = parts(mirrors: [])
        origin.fields[Self.own] = [links]
        let attempt = try origin.attempt(.fixed(4))
        #expect(attempt.arrival != nil && origin.holdsExactly == Self.right)
        #expect(urls(origin) == [Self.own, Self.mirror], "nothing by plain text")
        var without = parts(mirrors: [], hasDigest: false)
        without.fields[Self.own] = [links]
        _ = try without.attempt(.fixed(4))
        #expect(urls(without) == [Self.own])
    }

    /// Whatever a mirror does, the others bring the complete file, and no bytes of another version are used.
    @Test(
        arguments: [
            ScriptedParts.Answer.refused, .status(404, retryAfter: nil), .status(503, retryAfter: "1"),
            .whole(etag: "\"m\""), .wrongStart, .wrongTotal, .unsatisfied, .stalled(after: 1000), .cut(after: 70_000),
        ], [UInt64(1), 2, 3])
    func aFailingMirrorIsLeft(_ answer: ScriptedParts.Answer, _ seed: UInt64) throws {
        var origin = parts(seed, mirrors: [Self.mirror, Self.third]) { _, exchange in
            exchange.url == Self.mirror ? answer : nil
        }
        let attempt = try origin.attempt(.fixed(5))
        #expect(attempt.arrival != nil && origin.holdsExactly == Self.right, "\(answer)")
        #expect(attempt.restarts.isEmpty)
        #expect(origin.exchanges.count { $0.url == Self.mirror } <= 12)
        #expect(origin.bytesSent == Self.size && origin.overwritten == 0)
    }

    /// The mirror of the first bytes fails permanently in the middle.
    @Test(arguments: [UInt64(1), 2, 3, 4])
    func theFirstPlaceMayFailToo(_ seed: UInt64) throws {
        var origin = parts(seed) { number, exchange in
            guard exchange.url == Self.own else { return nil }
            return number == 0 ? .cut(after: 300_000) : .status(410, retryAfter: nil)
        }
        let attempt = try origin.attempt(.fixed(3))
        #expect(attempt.arrival != nil && origin.holdsExactly == Self.right)
        #expect(origin.bytesSent == Self.size)
    }

    @Test func aPlaceThatChangesIsLeftNotMixedIn() throws {
        var origin = parts(2) { number, exchange in
            exchange.url == Self.mirror && number > 4 ? .other(etag: "\"v2\"") : nil
        }
        let attempt = try origin.attempt(.fixed(6))
        #expect(attempt.arrival != nil && attempt.restarts.isEmpty && origin.holdsExactly == Self.right)
    }

    @Test func aMirrorThatCrawlsIsLeft() throws {
        var origin = parts(3)
        origin.pace[Self.mirror] = 400
        let attempt = try origin.attempt(.fixed(2))
        #expect(attempt.arrival != nil && origin.holdsExactly == Self.right)
        let slow = origin.exchanges.filter { $0.url == Self.mirror }
        #expect(slow.count == 1)
        #expect(origin.sent[Self.mirror] ?? 0 < 64 << 10)
    }

    @Test func whereAllFailTheAttemptSaysSo() throws {
        var origin = parts { number, _ in number == 0 ? .cut(after: 100_000) : .refused }
        let attempt = try origin.attempt(.fixed(2))
        #expect(attempt.failure?.error.code == .networkConnect || attempt.failure?.error.code == .networkLost)
        #expect(attempt.failure?.progressed == true)
        #expect(urls(origin) == [Self.own, Self.mirror])
    }

    /// If the mirror of the held bytes is gone, any mirror that answers fills the gaps.
    @Test func gapsAreFilledFromAnotherPlace() throws {
        var origin = parts { number, exchange in
            number > 0 && exchange.url == Self.own ? .refused : .cut(after: 200_000)
        }
        let first = try origin.attempt(.fixed(3))
        #expect(first.checkpoint?.ranges.isEmpty == false)
        origin.answer = { _, exchange in exchange.url == Self.own ? .refused : nil }
        let before = origin.exchanges.count
        let second = try origin.attempt(.fixed(3), checkpoint: first.checkpoint)
        #expect(second.arrival != nil && origin.holdsExactly == Self.right)
        #expect(origin.exchanges[before...].contains { $0.url == Self.mirror })
        #expect(origin.bytesSent == Self.size)
    }

    /// A file without one piece from the middle, which other origins brought.
    private static let holed = Checkpoint(
        offset: .mebibytes(1), total: ByteCount(Int64(size)), validators: Validators(etag: "\"v1\""),
        partPath: "/tmp/part", device: 1, inode: 2, ranges: [ByteRange(.mebibytes(3), ByteCount(Int64(size)))])

    /// Wrong pieces are replaced from one mirror only, whatever version it says it has, and nothing else is requested.
    @Test(arguments: [ConnectionPolicy.fixed(1), .fixed(3)])
    func gapsMayBeFilledFromOnePlaceAlone(_ policy: ConnectionPolicy) throws {
        var origin = parts(mustNotMix: true, fillsGaps: true)
        var held = Self.holed
        held.validators = Validators()
        let attempt = try origin.attempt(policy, checkpoint: held)
        #expect(attempt.arrival != nil && urls(origin) == [Self.own])
        #expect(origin.bytesSent == 2 << 20)
        #expect(origin.exchanges.first?.header("if-range") == nil, "its version is not known yet")
    }

    /// If a mirror cannot fill the gap, another one is tried and the held bytes stay.
    @Test(arguments: [
        ScriptedParts.Answer.refused, .status(404, retryAfter: nil), .whole(etag: "\"v1\""), .wrongTotal, .unsatisfied,
        .cut(after: 70_000),
    ])
    func whatThePlaceCannotGiveIsItsFailure(_ answer: ScriptedParts.Answer) throws {
        var origin = parts(mustNotMix: true, fillsGaps: true) { number, _ in number < 20 ? answer : nil }
        var held = Self.holed
        held.validators = Validators()
        let attempt = try origin.attempt(.fixed(1), checkpoint: held)
        #expect(attempt.failure != nil && attempt.restarts.isEmpty, "\(answer)")
        #expect(urls(origin) == [Self.own])
    }
}
