import TestSupport
import Testing
import Threading
import TransferModel
import TransferStore

@testable import DaemonKit

@Suite struct UnstoredChangesTests {
    private static let (anna, bert) = (UserID(7), UserID(8))

    /// A disk that fails until it is mended, and what was written to it.
    private final class Disk: Sendable {
        private let state = Guarded((failure: ErrorCode?.none, written: [Set<String>](), tries: 0))

        var failure: ErrorCode? {
            get { state.withLock { $0.failure } }
            set { state.withLock { $0.failure = newValue } }
        }
        var written: [Set<String>] { state.withLock { $0.written } }
        var tries: Int { state.withLock { $0.tries } }

        @Sendable func write(_ changes: Set<String>, _: StoreTransaction) throws {
            try state.withLock { state in
                state.tries += 1
                if let code = state.failure { throw TransferError(code, "The disk fails.") }
                state.written.append(changes)
            }
        }
    }

    private let folder: TemporaryFolder
    private let store: TransferStore
    private let unstored: UnstoredChanges<String>
    private let disk = Disk()

    init() throws {
        folder = try TemporaryFolder()
        store = try TransferStore(folder: folder.path)
        unstored = UnstoredChanges(store: store)
    }

    /// The store tells of its writes in their order.
    private func hasTried() async throws { try await store.write { _ in } }

    /// By itself, without another change, once for all changes that were kept out.
    @Test(arguments: [ErrorCode.diskFull, .diskQuota, .diskIO])
    func whatAFailingDiskKeptOutIsStoredWhenItWorksAgain(_ code: ErrorCode) async throws {
        disk.failure = code
        await #expect(throws: TransferError.self) { try await unstored.write(["a"], of: Self.anna, disk.write) }
        await #expect(throws: TransferError.self) { try await unstored.write(["b"], of: Self.anna, disk.write) }
        let tries = disk.tries
        #expect(await eventually { disk.tries > tries })
        disk.failure = nil
        #expect(await eventually { !disk.written.isEmpty })
        #expect(disk.written == [["a", "b"]])
    }

    @Test func theNextChangeStoresItToo() async throws {
        disk.failure = .internal
        unstored.store(["a"], of: Self.anna, disk.write)
        try await hasTried()
        disk.failure = nil
        try await unstored.write(["x"], of: Self.bert, disk.write)
        try await unstored.write(["b"], of: Self.anna, disk.write)
        try await unstored.write([], of: Self.anna, disk.write)
        #expect(disk.written == [["x"], ["a", "b"]])
    }

    @Test func whatIsLeftIsTriedOnceMoreAtTheEnd() async throws {
        disk.failure = .internal
        for owner in [Self.anna, Self.bert] { unstored.store(["of \(owner)"], of: owner, disk.write) }
        try await hasTried()
        await unstored.flush()
        #expect(disk.tries >= 4 && disk.written.isEmpty)
        disk.failure = nil
        await unstored.flush()
        #expect(Set(disk.written) == [["of \(Self.anna)"], ["of \(Self.bert)"]])
        await unstored.flush()
        #expect(disk.written.count == 2)
    }
}
