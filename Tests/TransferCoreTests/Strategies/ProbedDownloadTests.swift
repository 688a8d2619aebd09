import Testing
import TransferModel

@testable import TransferCore

struct ProbedDownloadTests {
    private let time: Int64 = 784_111_777

    private func held(_ offset: Int64, of total: Int64? = 100, time: Int64? = 784_111_777) -> Checkpoint {
        checkpoint(offset, of: total, lastModified: time.map(HTTPDate.format))
    }

    private func afterProbe(
        _ checkpoint: Checkpoint?, size: ByteCount?, time: Int64?, trusted: Bool = false
    ) throws -> (step: Step<Arrival>, strategy: any TransferStrategy<Arrival>) {
        var strategy = try StrategyRegistry.download(
            for: request("ftp://example.org/f", checkpoint: checkpoint, trustedDigest: trusted))
        guard case .run(let probe) = strategy.next(after: nil) else { throw TransferError(.internal, "no probe") }
        #expect(probe.kind == .probe)
        let head = ResponseHead(url: probe.url, size: size, modificationTime: time)
        return (strategy.next(after: ExchangeOutcome(end: .finished, head: head)), strategy)
    }

    private func offset(_ step: Step<Arrival>) -> ByteCount? {
        switch step {
        case .run(let exchange): exchange.startOffset
        case .restart, .finished, .failed, .store: nil
        }
    }
    private func isRestart(_ step: Step<Arrival>) -> Bool { if case .restart = step { true } else { false } }

    @Test(arguments: [
        "ftp://h", "ftp://h/", "ftps://h/dir/", "ftp://h/dir%2F", "ftp://h/dir/;type=i", "sftp://h/dir/",
    ])
    func aFolderIsRefused(_ url: String) {
        let error = #expect(throws: TransferError.self) { try StrategyRegistry.download(for: request(url)) }
        #expect(error?.code == .badField && error?.details["field"] == "url")
        #expect(error?.message.contains("name a file in it") == true)
    }

    @Test(arguments: [
        "ftp://h/f;type=a", "ftp://h/f;type=d", "ftps://h/f;type=A", "ftp://h/f;type=i;x", "ftp://h/f;type=",
    ])
    func anotherRepresentationIsRefused(_ url: String) {
        let error = #expect(throws: TransferError.self) { try StrategyRegistry.download(for: request(url)) }
        #expect(error?.code == .badField && error?.message.contains("leave out ;type=") == true)
    }

    @Test(arguments: ["ftp://h/f", "ftp://h/f;type=i", "ftps://h/dir/f;type=I", "sftp://h/f;type=a", "ftp://h/f;x"])
    func aFileIsTaken(_ url: String) {
        #expect(throws: Never.self) { try StrategyRegistry.download(for: request(url)) }
    }

    @Test func sameSizeAndTimeContinues() throws {
        #expect(offset(try afterProbe(held(40), size: 100, time: time).step) == 40)
    }

    @Test func anyDifferenceRestarts() throws {
        #expect(isRestart(try afterProbe(held(40), size: 101, time: time).step))
        #expect(isRestart(try afterProbe(held(40), size: 100, time: time + 1).step))
        #expect(isRestart(try afterProbe(held(40), size: 100, time: nil).step))
        #expect(isRestart(try afterProbe(held(40), size: nil, time: time).step))
        #expect(isRestart(try afterProbe(held(40, time: nil), size: 100, time: time).step))
        #expect(isRestart(try afterProbe(held(40, of: nil), size: 39, time: time).step))
    }

    @Test func aDigestStandsInForAMissingTimeOnly() throws {
        #expect(offset(try afterProbe(held(40), size: 100, time: nil, trusted: true).step) == 40)
        #expect(isRestart(try afterProbe(held(40), size: 100, time: time + 1, trusted: true).step))
    }

    @Test func aWholeFileNeedsOnlyTheProbe() throws {
        guard case .finished(let arrival) = try afterProbe(held(100), size: 100, time: time).step else {
            Issue.record("fetched again")
            return
        }
        #expect(arrival.total == 100)
        #expect(arrival.modificationTime == time)
    }

    @Test func withoutASizeTheEndIsNotProven() throws {
        var (step, strategy) = try afterProbe(nil, size: nil, time: nil)
        #expect(offset(step) == 0)
        let head = ResponseHead(url: "ftp://example.org/f")
        step = strategy.next(after: ExchangeOutcome(end: .finished, head: head, offset: 12, received: 12))
        guard case .finished(let arrival) = step else {
            Issue.record("\(step)")
            return
        }
        #expect(!arrival.lengthProven)
    }

    @Test(arguments: [21, 31, 33, 36])
    func aServerWithoutRestRestartsFromAProbe(_ code: Int) throws {
        var (_, strategy) = try afterProbe(held(40), size: 100, time: time)
        let step = strategy.next(
            after: ExchangeOutcome(end: .transport(code: code, message: "REST failed"), offset: 40))
        guard case .restart(_, then: let exchange) = step else {
            Issue.record("\(step)")
            return
        }
        #expect(exchange.kind == .probe)
        let head = ResponseHead(url: exchange.url, size: 100, modificationTime: time)
        #expect(offset(strategy.next(after: ExchangeOutcome(end: .finished, head: head))) == 0)
    }

    /// An HTTP proxy speaks FTP for the client.
    @Test func aProxysPageOfAnErrorIsNotTheFile() throws {
        var (step, strategy) = try afterProbe(nil, size: nil, time: nil)
        guard case .run(let fetch) = step, case .stop(let reason) = fetch.judge.judge(head(502, url: fetch.url)) else {
            Issue.record("accepted")
            return
        }
        step = strategy.next(after: ExchangeOutcome(end: .stopped(reason), head: head(502, url: fetch.url)))
        guard case .failed(let failure) = step else {
            Issue.record("\(step)")
            return
        }
        #expect(failure.error.code == .httpStatus)
        #expect(failure.disposition == .transient(after: nil))
    }

    @Test func aChangeBetweenProbeAndFetchRestarts() throws {
        let (step, _) = try afterProbe(held(40), size: 100, time: time)
        guard case .run(let fetch) = step else {
            Issue.record("\(step)")
            return
        }
        let changed = ResponseHead(url: fetch.url, size: 100, modificationTime: time + 60)
        guard case .stop(.restart) = fetch.judge.judge(changed) else {
            Issue.record("accepted")
            return
        }
    }
}
