import Foundation
import Testing
import TransferModel

@testable import TransferStore

@Suite struct DatabasePlaceTests {
    let fixture = Fixture()

    @Test func nothingIsAnsweredIntoAFolderThatIsGone() async throws {
        let store = try fixture.open()
        let kept = try await store.add(newTask())
        let away = fixture.folder + ".away"
        try FileManager.default.moveItem(atPath: fixture.folder, toPath: away)
        let refused = await transferError { try await store.add(newTask()) }
        #expect(refused?.code == .diskIO)
        // Writes fail too if another store has taken its place.
        try FileManager.default.createDirectory(atPath: fixture.folder, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: fixture.database))
        let refusedAgain = await transferError { try await store.add(newTask()) }
        #expect(refusedAgain?.code == .diskIO)
        try FileManager.default.removeItem(atPath: fixture.folder)
        try FileManager.default.moveItem(atPath: away, toPath: fixture.folder)
        let next = try await store.add(newTask())
        let counts = try await store.read { try $0.counts() }
        #expect(counts[.queued] == 2)
        #expect(next > kept)
    }
}
