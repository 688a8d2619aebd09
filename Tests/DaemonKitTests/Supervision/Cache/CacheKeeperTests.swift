import Dispatch
import TestSupport
import Testing
import Threading
import TransferCore
import TransferModel
import TransferStore

@testable import DaemonKit

struct CacheKeeperTests {
    private let folder: TemporaryFolder
    private let disk: CacheStore
    private let keeper: CacheKeeper
    private static let alice = UserID(1000)

    init() throws {
        folder = try TemporaryFolder()
        disk = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1", inPlace: true)
        keeper = CacheKeeper(disk: disk)
    }

    private func shelf(_ kind: SessionKind = .default, owner: UserID = alice, _ capacities: CacheCapacities? = nil)
        throws -> CacheKeeper.Shelf
    {
        var session = SessionConfiguration()
        session.urlCache = capacities
        let policy = try #require(CachePolicy(session, kind))
        return CacheKeeper.Shelf(place: CachePlace(owner, policy.isOwn ? "s" : ""), policy: policy)
    }

    private func request(_ url: String = "http://a/", _ headers: [(String, String)] = []) throws -> CacheRequest {
        var exchange = Exchange(url: url, judge: CaptureJudge())
        exchange.kind = .request
        exchange.headers = headers.map { HeaderField($0.0, $0.1) }
        return try #require(CacheRequest(exchange, .useProtocolCachePolicy))
    }

    private func answer(
        _ body: Int = 3, _ control: String = "max-age=9", vary: String? = nil, to request: CacheRequest,
        at time: Int64 = 5
    ) throws -> CachedAnswer {
        let head = ResponseHead(
            url: request.url, status: 200,
            headers: [HeaderField("Cache-Control", control)] + (vary.map { [HeaderField("Vary", $0)] } ?? []))
        return CachedAnswer(
            response: try #require(request.stored(head, requestTime: time, responseTime: time)),
            body: [UInt8](repeating: 7, count: body), credentials: request.credentials)
    }

    private func find(_ request: CacheRequest, _ shelf: CacheKeeper.Shelf, in other: CacheKeeper? = nil) async
        -> CachedAnswer?
    {
        await withCheckedContinuation { continuation in
            let keeper = other ?? keeper
            keeper.find(request, on: shelf, since: keeper.reading()) { continuation.resume(returning: $0) }
        }
    }

    private func put(
        _ answer: CachedAnswer, _ shelf: CacheKeeper.Shelf, since reading: CacheReading? = nil, replaces: Bool = false
    ) {
        keeper.put(answer, "http://a/", on: shelf, since: reading ?? keeper.reading(), replaces: replaces)
    }

    private func onDisk(owner: UserID = alice) async -> Int {
        await disk.usage(of: owner).values.reduce(0) { $0 + $1.entries }
    }

    @Test func theDiskAnswersWhatMemoryHasForgotten() async throws {
        let (request, shelf) = (try request(), try shelf())
        let stored = try answer(30_000, to: request)
        put(stored, shelf)
        let next = CacheKeeper(disk: disk)
        #expect(await find(request, shelf, in: next) == stored)
        #expect(await next.usage(of: Self.alice)[""]?.memory.entries == 1)
        #expect(await find(request, try self.shelf(owner: UserID(7)), in: next) == nil)
    }

    /// While the disk is read, another task may get a newer answer. It is not replaced by the older one.
    @Test func whatWasReadReplacesNothingNewer() async throws {
        let (request, shelf) = (try request(), try shelf())
        let (old, new) = (try answer(1, to: request), try answer(2, to: request, at: 6))
        put(old, shelf)
        await disk.close()
        let slow = CacheStore(path: folder.file("cache"), ownersMost: 1 << 30, boot: "1")
        let next = CacheKeeper(disk: slow)
        // Holds the thread of the disk until the newer answer is there.
        let (begun, begins) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        slow.find(
            shelf.place, request.url,
            choosing: { _ in
                begins.finish()
                _ = gate.wait(timeout: .now() + 60)
                return nil
            }, then: { _ in })
        for await _ in begun {}
        let (found, finds) = AsyncStream.makeStream(of: CachedAnswer?.self)
        next.find(request, on: shelf, since: next.reading()) {
            finds.yield($0)
            finds.finish()
        }
        next.put(new, request.url, on: shelf, since: next.reading(), replaces: false)
        gate.signal()
        for await answer in found { #expect(answer == new) }
        #expect(next.recall(request, on: shelf) == new)
        await next.close()
    }

    @Test func ephemeralSessionsReachNoDisk() async throws {
        let (request, shelf) = (try request(), try shelf(.ephemeral))
        put(try answer(to: request), shelf)
        #expect(await find(request, shelf) != nil)
        #expect(await onDisk() == 0)
        keeper.forget(SessionKey(owner: Self.alice, identifier: "s"))
        #expect(await find(request, shelf) == nil)
    }

    /// This concerns answers that a secret of the request selected or a password protects, and those that could never
    /// be used.
    @Test func secretsStayInMemory() async throws {
        let shelf = try shelf()
        let proven = try request("http://a/", [("Authorization", "Basic a")])
        put(try answer(to: proven), shelf)
        let withCookie = try request("http://a/", [("Cookie", "a=b")])
        put(try answer(vary: "Cookie", to: withCookie), shelf)
        put(try answer(3, "private", to: try request()), shelf)
        #expect(await onDisk() == 0)
        #expect(await find(proven, shelf) != nil)
        #expect(await find(withCookie, shelf) != nil)
    }

    /// An answer is stored where it was proposed. What a client wants off the disk stays off it.
    @Test func theProposalIsWhereAnAnswerGoes() async throws {
        let shelf = try shelf(.default, CacheCapacities(memoryCapacity: 40_000, diskCapacity: 80_000))
        let request = try request()
        func proposal(_ answer: CachedAnswer, _ shelf: CacheKeeper.Shelf, _ keeper: CacheKeeper? = nil)
            -> DecisionDefault?
        {
            (keeper ?? self.keeper).proposal(for: answer, request.url, on: shelf)
        }
        let ephemeral = try self.shelf(.ephemeral)
        let small = try answer(to: request)
        #expect(proposal(small, shelf) == .store && proposal(small, ephemeral) == .memoryOnly)
        #expect(proposal(small, shelf, CacheKeeper(disk: nil)) == .memoryOnly)
        #expect(try proposal(answer(3000, to: request), shelf) == .store)
        #expect(try proposal(answer(5000, to: request), shelf) == nil)
        let proven = try self.request("http://a/", [("Authorization", "Basic a")])
        #expect(try proposal(answer(to: proven), shelf) == .memoryOnly)
        var kept = small
        kept.isMemoryOnly = true
        put(small, shelf)
        put(kept, shelf, replaces: true)
        #expect(await onDisk() == 0)
        #expect(await find(request, shelf) == kept)
    }

    @Test func anAnswerTakesATwentiethAtMost() async throws {
        let shelf = try shelf(.default, CacheCapacities(memoryCapacity: 40_000, diskCapacity: 80_000))
        let request = try request()
        put(try answer(3000, to: request), shelf)
        let usage = await keeper.usage(of: Self.alice)["s"]
        #expect(usage?.memory.entries == 0 && usage?.disk.entries == 1)
        // An older answer does not come back if the newer one is not stored.
        put(try answer(5000, to: request), shelf, replaces: true)
        #expect(await find(request, shelf) == nil)
        put(try answer(1000, to: request), shelf)
        #expect(await keeper.usage(of: Self.alice)["s"]?.memory.entries == 1)
    }

    @Test func invalidationReachesBoth() async throws {
        let (request, shelf) = (try request(), try shelf())
        put(try answer(to: request), shelf)
        keeper.forget("http://a/", on: shelf)
        #expect(await find(request, shelf) == nil)
        #expect(await onDisk() == 0)
    }

    /// The session's own storage has an answer on the disk from a time before its disk capacity was 0 (RFC 9111 section
    /// 4.4).
    @Test func invalidationReachesADiskThatIsNotUsedNow() async throws {
        let request = try request()
        put(try answer(to: request), try shelf(.default, CacheCapacities(memoryCapacity: 40_000, diskCapacity: 80_000)))
        #expect(await onDisk() == 1)
        let later = try shelf(.default, CacheCapacities(memoryCapacity: 40_000, diskCapacity: 0))
        keeper.forget("http://a/", on: later)
        #expect(await onDisk() == 0)
    }

    /// An answer that was requested or read before an invalidation does not come back afterwards.
    @Test(arguments: ["url", "client", "session"])
    func whatIsInvalidatedMeanwhileIsNotKept(by: String) async throws {
        let (request, shelf) = (try request(), try shelf())
        let stored = try answer(to: request)
        put(stored, shelf)
        let next = CacheKeeper(disk: disk)
        let (before, own) = (next.reading(), keeper.reading())
        switch by {
        case "url":
            next.forget("http://a/", on: shelf)
            keeper.forget("http://a/", on: shelf)
        case "client":
            _ = await next.remove(Self.alice, [""], url: nil, since: nil)
            _ = await keeper.remove(Self.alice, [""], url: "http://a/", since: nil)
        default:
            next.forget(SessionKey(owner: Self.alice, identifier: ""))
            keeper.forget(SessionKey(owner: Self.alice, identifier: ""))
        }
        let late: CachedAnswer? = await withCheckedContinuation { continuation in
            next.find(request, on: shelf, since: before) { continuation.resume(returning: $0) }
        }
        #expect(late == nil)
        put(stored, shelf, since: own)
        #expect(await keeper.usage(of: Self.alice)[""]?.memory.entries ?? 0 == 0)
        // Other URLs, and answers that began later, are not affected.
        put(stored, shelf)
        #expect(await find(request, shelf) == stored)
    }

    @Test func clientsRemoveWhatTheyName() async throws {
        let (request, shelf) = (try request(), try shelf())
        put(try answer(to: request), shelf)
        for (owner, storages, url, since) in [
            (UserID(7), [""], nil, nil), (Self.alice, ["s"], nil, nil), (Self.alice, [""], "http://b/", nil),
            (Self.alice, [""], nil, Timestamp(milliseconds: 6000)),
        ] as [(UserID, [String], String?, Timestamp?)] {
            let removed = await keeper.remove(owner, storages, url: url, since: since)
            #expect(removed.memory == 0 && removed.disk == 0)
        }
        let removed = await keeper.remove(Self.alice, [""], url: nil, since: Timestamp(milliseconds: 5000))
        #expect(removed.memory == 1 && removed.disk == 1)
    }

    // MARK: Flights

    @Test func thoseWhoWaitGoOnOnce() throws {
        let flight = CacheKeeper.Flight(place: CachePlace(Self.alice, ""), url: "http://a/")
        let went = Guarded<[Int]>([])
        guard case .lead(let lead) = keeper.start(flight, waiter: 1, [], { _ in }) else { return #expect(Bool(false)) }
        for waiter in 2...4 {
            guard case .wait = keeper.start(flight, waiter: waiter, [], { _ in went.withLock { $0.append(waiter) } })
            else {
                return #expect(Bool(false))
            }
        }
        keeper.leave(flight, waiter: 3)
        #expect(went.withLock { $0 } == [3])
        keeper.land(CacheKeeper.Lead(flight: flight, number: lead.number + 100))
        #expect(went.withLock { $0 } == [3])
        keeper.land(lead)
        keeper.land(lead)
        #expect(went.withLock { $0.sorted() } == [2, 3, 4])
        guard case .lead = keeper.start(flight, waiter: 5, [], { _ in }) else { return #expect(Bool(false)) }
        var other = flight
        other.credentials = "x"
        guard case .lead = keeper.start(other, waiter: 6, [], { _ in }) else { return #expect(Bool(false)) }
    }

    /// Vary shows that the answer does not fit all waiting requests. Those continue when its header arrives (RFC 9111
    /// section 4.1).
    @Test func thoseWhoseAnswerItIsNotGoOnAtItsHead() throws {
        let flight = CacheKeeper.Flight(place: CachePlace(Self.alice, ""), url: "http://a/")
        let went = Guarded<[Int]>([])
        func start(_ waiter: Int, _ language: String) -> CacheKeeper.Start {
            keeper.start(flight, waiter: waiter, [HeaderField("Accept-Language", language)]) { _ in
                went.withLock { $0.append(waiter) }
            }
        }
        guard case .lead(let lead) = start(1, "de"), case .wait = start(2, "de"), case .wait = start(3, "fr") else {
            return #expect(Bool(false))
        }
        let head = ResponseHead(url: "http://a/", status: 200, headers: [HeaderField("Vary", "Accept-Language")])
        let selection = try #require(CacheSelection(head, [HeaderField("Accept-Language", "de")]))
        keeper.select(CacheKeeper.Lead(flight: flight, number: lead.number + 100), selection)
        #expect(went.withLock { $0 } == [])
        keeper.select(lead, selection)
        #expect(went.withLock { $0 } == [3])
        guard case .pass = start(4, "fr"), case .wait = start(5, "de") else { return #expect(Bool(false)) }
        keeper.land(lead)
        #expect(went.withLock { $0.sorted() } == [2, 3, 5])
    }

    /// A stopped request is replaced by the oldest waiting one, to which its Vary does not apply any more.
    @Test func aFlightIsHandedOnUntilNobodyWaits() throws {
        let flight = CacheKeeper.Flight(place: CachePlace(Self.alice, ""), url: "http://a/")
        let went = Guarded<[(waiter: Int, leads: Int?)]>([])
        func start(_ waiter: Int, _ language: String) -> CacheKeeper.Start {
            keeper.start(flight, waiter: waiter, [HeaderField("Accept-Language", language)]) { lead in
                went.withLock { $0.append((waiter, lead?.number)) }
            }
        }
        guard case .lead(let lead) = start(1, "de") else { return #expect(Bool(false)) }
        for waiter in 2...4 {
            guard case .wait = start(waiter, "de") else { return #expect(Bool(false)) }
        }
        let head = ResponseHead(url: "http://a/", status: 200, headers: [HeaderField("Vary", "Accept-Language")])
        keeper.select(lead, try #require(CacheSelection(head, [HeaderField("Accept-Language", "de")])))
        keeper.handOn(CacheKeeper.Lead(flight: flight, number: lead.number + 100))
        #expect(went.withLock { $0.isEmpty })
        keeper.handOn(lead)
        #expect(went.withLock { $0.map(\.waiter) } == [2] && went.withLock { $0[0].leads } == lead.number)
        guard case .wait = start(5, "fr") else { return #expect(Bool(false)) }
        keeper.handOn(lead)
        #expect(went.withLock { $0.map(\.waiter) } == [2, 3])
        keeper.land(lead)
        #expect(went.withLock { $0.dropFirst(2).map(\.waiter).sorted() } == [4, 5])
        #expect(went.withLock { $0.dropFirst(2).allSatisfy { $0.leads == nil } })
        guard case .lead(let next) = start(6, "de") else { return #expect(Bool(false)) }
        keeper.handOn(next)
        guard case .lead = start(7, "de") else { return #expect(Bool(false)) }
    }
}
