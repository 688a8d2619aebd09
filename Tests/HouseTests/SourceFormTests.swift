import Foundation
import Testing

/// The rules of CONTRIBUTING.md that a machine can check.
@Suite struct SourceFormTests {
    /// Words for crashes on outside input, and for unfinished work.
    @Test(arguments: [
        "try" + "!", "fatal" + "Error(", "precondition" + "Failure(", "as" + "! ", "TO" + "DO", "FIX" + "ME",
        "X" + "XX:",
    ])
    func wordsThatDoNotBelongInSources(word: String) throws {
        for file in Checkout.files(below: "Sources", suffix: ".swift") {
            let text = try Checkout.text(file)
            guard text.contains(word) else { continue }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            for (index, line) in lines.enumerated() where line.contains(word) {
                Issue.record("\(file):\(index + 1) contains \(word)")
            }
        }
    }

    /// If the guarded value were a function itself, each access would wrap it in one more thunk (see `Guarded`).
    @Test func noFunctionIsGuardedByItself() throws {
        for file in Checkout.files(below: "Sources", suffix: ".swift") {
            let text = try Checkout.text(file).lines(with: "Guarded<", "ConditionLock<")
            let boxed = text.matches(of: #/\b(?:Guarded|ConditionLock)<[^<>\n]*->/#)
            #expect(boxed.isEmpty, "\(file): wrap the function in a structure")
        }
    }

    /// Only `TemporaryFolder` makes sure that no files are left behind.
    @Test func temporaryFoldersAreMadeInOnePlace() throws {
        let words = ["mkd" + "temp(", "temporary" + "Directory", "NSTemporary" + "Directory"]
        for file in Checkout.files(below: "Tests", suffix: ".swift") where !file.hasSuffix("/TemporaryFolder.swift") {
            let text = try Checkout.text(file)
            for word in words { #expect(!text.contains(word), "\(file): use TemporaryFolder") }
        }
    }

    /// Paths of one machine do not belong in a repository.
    @Test func noAbsolutePathsOfOneMachine() throws {
        let folders = ["Sources", "Tests", "scripts", "systemd", "config", "docs"]
        let marks = ["/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/runner"]
        for file in folders.flatMap({ Checkout.files(below: $0) }) {
            guard let text = try? Checkout.text(file) else { continue }
            for mark in marks { #expect(!text.contains(mark), "\(file) contains \(mark)") }
        }
    }

    @Test func noFileHasMoreThan600Lines() throws {
        for file in Checkout.files(below: "Sources", suffix: ".swift") {
            let count = try Checkout.text(file).utf8.count { $0 == UInt8(ascii: "\n") }
            #expect(count <= 600, "\(file) has \(count) lines")
        }
    }

    /// Every file explains why its declarations exist. A command explains it in its abstract, and an extension in its
    /// file name.
    @Test func everySourceFileIsDocumented() throws {
        for file in Checkout.files(below: "Sources", suffix: ".swift") where !file.contains("+") {
            let text = try Checkout.text(file)
            #expect(text.contains("///") || text.contains("abstract: "), "\(file) has no documentation comment")
        }
    }
}
