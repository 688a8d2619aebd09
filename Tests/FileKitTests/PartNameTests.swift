import Testing
import TransferModel

@testable import FileKit

struct PartNameTests {
    @Test func itIsHiddenAndDiffersByTaskStoreAndAttempt() {
        let names = [
            PartName.make(task: TaskID(1), store: "one"), PartName.make(task: TaskID(2), store: "one"),
            PartName.make(task: TaskID(1), store: "two"), PartName.make(task: TaskID(1), store: "one", attempt: 1),
            PartName.make(task: TaskID(1), store: "one", wanted: "video.mp4"),
        ]
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(name.hasPrefix("."))
            #expect(PartName.isPartName(name))
        }
    }

    @Test(arguments: ["a", String(repeating: "n", count: 255), String(repeating: "漢", count: 85), "a/b", "..", ""])
    func itFitsWhateverIsWanted(wanted: String) {
        let name = PartName.make(
            task: TaskID(.max), store: "0123456789abcdef0123", wanted: wanted, attempt: 12)
        #expect(name.utf8.count <= 143)
        #expect(!name.contains("/"))
        #expect(PartName.isPartName(name))
    }

    @Test func itTellsWhoseItIs() {
        for wanted in [nil, "video.mp4", "a-1.b-2"] {
            let name = PartName.make(task: TaskID(42), store: "0123abcd", wanted: wanted)
            #expect(PartName.task(of: name, store: "0123abcd") == TaskID(42))
            #expect(PartName.task(of: name, store: "4567") == nil)
        }
        #expect(PartName.task(of: "video.mp4", store: "0123abcd") == nil)
    }

    @Test(arguments: [
        "a.txt", ".bashrc", ".ssh", ".x.dldpart", "x.store-1.dldpart", ".a/b.store-1.dldpart", ".x.s-.dldpart",
    ])
    func otherFilesAreNoPartFiles(name: String) {
        #expect(!PartName.isPartName(name))
    }
}
