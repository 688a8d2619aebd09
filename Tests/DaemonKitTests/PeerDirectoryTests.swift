import Testing
import Threading
import TransferModel

@testable import DaemonKit

/// A directory of users that answers when the test lets it.
private final class FakeDirectory: Sendable {
    private struct State {
        var isOpen = true
        var isAdmin = false
        var asked: [UInt32] = []
    }
    private let state = ConditionLock(State())

    /// The uids in the order of their lookups.
    var asked: [UInt32] { state.withLock { $0.asked } }

    func set(isOpen: Bool, isAdmin: Bool = false) {
        state.withLock { state in
            state.isOpen = isOpen
            state.isAdmin = isAdmin
        }
        state.broadcast()
    }

    @Sendable func look(_ uid: UInt32, _ gid: UInt32, _ group: String) -> Bool {
        state.withLock { $0.asked.append(uid) }
        return state.wait { $0.isOpen ? $0.isAdmin : nil }
    }
}

@Suite(.timeLimit(.minutes(4)))
struct PeerDirectoryTests {
    private let fake = FakeDirectory()
    private let time = ManualTime()
    private let peers: PeerDirectory

    init() { peers = PeerDirectory(adminGroup: "admins", time: time, lookup: fake.look) }

    /// Returns when the uid is known.
    private func know(_ uid: UInt32, client: Int = 1) async {
        await withCheckedContinuation { continuation in
            if !peers.waits(uid: uid, gid: 1, client: client, whenKnown: { continuation.resume() }) {
                continuation.resume()
            }
        }
    }

    private func isAdmin(_ uid: UInt32) -> Bool { peers.peer(uid: uid, gid: 1, pid: 1).isAdmin }

    @Test func whoNeedsNoLookupWaitsForNone() {
        fake.set(isOpen: false)
        defer { fake.set(isOpen: true) }
        #expect(peers.isKnown(uid: 0, gid: 0) && isAdmin(0))
        let own = PeerDirectory(adminGroup: nil, time: time, lookup: fake.look)
        #expect(own.isKnown(uid: 1000, gid: 1) && !own.peer(uid: 1000, gid: 1, pid: 1).isAdmin)
        #expect(own.peer(uid: 0, gid: 0, pid: 1).isAdmin)
        #expect(!own.waits(uid: 1000, gid: 1, client: 1) {})
        #expect(fake.asked.isEmpty)
    }

    /// A directory that hangs blocks no caller, and is asked only once, however many clients wait.
    @Test func aPeerIsLookedUpOnce() async {
        fake.set(isOpen: false)
        #expect(!peers.isKnown(uid: 1000, gid: 1))
        let called = Guarded(0)
        for client in 1...3 {
            #expect(peers.waits(uid: 1000, gid: 1, client: client) { called.withLock { $0 += 1 } })
        }
        peers.forget(uid: 1000, client: 2)
        #expect(!peers.isKnown(uid: 1000, gid: 1) && !isAdmin(1000))
        #expect(called.withLock { $0 } == 0)
        fake.set(isOpen: true, isAdmin: true)
        await know(1000, client: 4)
        #expect(peers.isKnown(uid: 1000, gid: 1) && isAdmin(1000))
        #expect(fake.asked == [1000])
        #expect(await eventually { called.withLock { $0 } == 2 })
    }

    /// A known user can continue while the directory hangs, however long.
    @Test(arguments: [Seconds(61), Seconds(100_000)])
    func whatIsKnownServesWhileItIsLookedUpAgain(_ age: Seconds) async {
        await know(1000)
        time.advance(Seconds(59))
        #expect(peers.isKnown(uid: 1000, gid: 1))
        #expect(fake.asked == [1000])
        fake.set(isOpen: false)
        time.advance(age)
        for _ in 1...3 { #expect(peers.isKnown(uid: 1000, gid: 1) && !isAdmin(1000)) }
        fake.set(isOpen: true, isAdmin: true)
        #expect(await eventually { isAdmin(1000) })
        #expect(fake.asked == [1000, 1000])
    }

    /// A directory that hangs keeps nobody an administrator.
    @Test func anAdministratorIsTrustedForTwoMinutes() async {
        fake.set(isOpen: true, isAdmin: true)
        await know(1000)
        fake.set(isOpen: false)
        time.advance(Seconds(119))
        #expect(peers.isKnown(uid: 1000, gid: 1) && isAdmin(1000))
        time.advance(Seconds(1))
        #expect(!peers.isKnown(uid: 1000, gid: 1))
        fake.set(isOpen: true, isAdmin: false)
        await know(1000)
        #expect(peers.isKnown(uid: 1000, gid: 1) && !isAdmin(1000))
        #expect(fake.asked == [1000, 1000])
    }
}
