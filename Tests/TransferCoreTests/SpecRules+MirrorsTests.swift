import Testing
import TransferModel

@testable import TransferCore

struct SpecRulesMirrorsTests {
    private func refusal(_ change: (inout TaskSpec) -> Void) -> TransferError? {
        var spec = TaskSpec()
        spec.url = "https://example.org/f"
        spec.mirrors = ["https://mirror.example.org/f", "ftp://old.example.org/f", "sftp://u@h/f"]
        change(&spec)
        do throws(TransferError) {
            try SpecRules(path: "tasks[3]").check(spec)
            return nil
        } catch {
            return error
        }
    }

    @Test func mirrorsOfADownloadPass() {
        #expect(refusal { _ in } == nil)
        #expect(refusal { $0.mirrors = [] } == nil)
        #expect(refusal { $0.method = "get" } == nil)
    }

    @Test func refusalsNameTheMirror() {
        #expect(refusal { $0.mirrors?[1] = "nowhere" }?.details["field"] == "tasks[3].mirrors[1]")
        #expect(refusal { $0.mirrors?[1] = "nowhere" }?.code == .badURL)
        #expect(refusal { $0.mirrors?[2] = "https://h/a\nb" }?.code == .badURL)
        for other in ["file:///etc/passwd", "data:,x"] {
            #expect(refusal { $0.mirrors?[0] = other }?.details["field"] == "tasks[3].mirrors[0]", "\(other)")
        }
    }

    @Test func onlyPlainDownloadsHaveThem() {
        let refused = [
            refusal { $0.kind = .data }, refusal { $0.method = "POST" }, refusal { $0.url = "file:///f" },
            refusal {
                $0.method = "GET"
                $0.body = RequestBody()
                $0.body?.text = "x"
            }, refusal { $0.mirrors = Array(repeating: "https://m/f", count: Origins.limit + 1) },
        ]
        for error in refused { #expect(error?.details["field"] == "tasks[3].mirrors", "\(String(describing: error))") }
    }
}
