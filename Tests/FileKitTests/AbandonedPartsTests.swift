import Glibc
import TestSupport
import Testing
import TransferModel

@testable import FileKit

struct AbandonedPartsTests {
    @Test(arguments: [
        (PartName.make(task: .firstVolatile, store: "s", wanted: "file.bin"), true),
        (PartName.make(task: .firstVolatile, store: "s", attempt: 1), true),
        (PartName.make(task: TaskID(7), store: "s", wanted: "file.bin"), false),
        (".file.s-1000000000000000", false), ("file.s-1000000000000000.dldpart", false), ("", false),
    ])
    func aNameSaysThatATaskWasVolatile(name: String, isVolatile: Bool) {
        #expect(AbandonedParts.isVolatile(name) == isVolatile)
    }

    @Test func oldPartsOfOtherStoresAreRemoved() throws {
        let fixture = try FilesFixture()
        let folder = try fixture.open()
        let (own, other) = (
            PartName.make(task: .firstVolatile, store: "1"), PartName.make(task: .firstVolatile, store: "2")
        )
        let durable = PartName.make(task: TaskID(7), store: "2")
        for name in [own, other, durable, "file"] { try Files.write(fixture.temporary.file(name), "x") }
        let now = Int64(time(nil))
        func remove(at time: Int64) {
            AbandonedParts.remove(from: folder, owner: UserID(getuid()), store: "1", now: time)
        }
        remove(at: now + AbandonedParts.age - 60)
        #expect(Files.names(in: fixture.temporary.path).contains(other))
        remove(at: now + AbandonedParts.age + 60)
        #expect(Files.names(in: fixture.temporary.path).sorted() == [own, durable, "file"].sorted())
    }
}
