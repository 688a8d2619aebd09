import Testing
import TransferModel

@testable import TransferCore

struct SpecRulesMirrorsTests {
    private func refusal(_ change: (inout TaskSpec) -> Void) -> TransferError? {
        var spec = TaskSpec()
        spec.url = "https://example.org/f"
        spec.mirrors = ["https://mirror.example.org/f", "ftp://old.example.org/f", "sftp://u@h/f"]
        return TransferCoreTests.refusal(of: spec, change)
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

    @Test(arguments: ["ftp://h/", "ftp://h/dir/", "sftp://h/dir/", "ftp://h/f;type=a", "ftps://h/f;type=d"])
    func aMirrorIsAFile(_ mirror: String) {
        let error = refusal { $0.mirrors?[1] = mirror }
        #expect(error?.code == .badField && error?.details["field"] == "tasks[3].mirrors[1]")
    }

    @Test func piecesAreCheckedByName() {
        func refused(_ change: (inout PieceDigests) -> Void) -> TransferError? {
            var pieces = PieceDigests(
                algorithm: .md5, length: 16_384, values: Array(repeating: String(repeating: "aF", count: 16), count: 3))
            change(&pieces)
            return refusal { $0.pieces = pieces }
        }
        #expect(refused { _ in } == nil)
        #expect(refused { $0.length = 0 }?.details["field"] == "tasks[3].pieces.length")
        #expect(refused { $0.values = [] }?.details["field"] == "tasks[3].pieces.values")
        #expect(refused { $0.values[2] = "ab" }?.details["field"] == "tasks[3].pieces.values[2]")
        #expect(refused { $0.algorithm = .sha1 }?.details["field"] == "tasks[3].pieces.values[0]")
        #expect(refused { $0.values = Array(repeating: $0.values[0], count: Bounds.pieces + 1) } != nil)
        #expect(refused { $0.length = 16_383 }?.details["field"] == "tasks[3].pieces.length")
        #expect(refused { $0 = .init(algorithm: .md5, length: 1, values: [$0.values[0]]) } == nil, "one is the file")
        let long = String(repeating: "0", count: 128)
        func many(_ count: Int) -> TransferError? {
            refused { $0 = .init(algorithm: .sha512, length: 1_048_576, values: Array(repeating: long, count: count)) }
        }
        #expect(many(16_384) == nil)
        #expect(many(16_385)?.details["field"] == "tasks[3].pieces.values")
        #expect(refusal { $0.size = -1 }?.details["field"] == "tasks[3].size")
        #expect(refusal { $0.size = 0 } == nil)
        let odd = refusal { spec in
            spec.size = 5000
            spec.pieces = PieceDigests(algorithm: .md5, length: 1000, values: [String(repeating: "0", count: 32)])
        }
        #expect(odd?.details["field"] == "tasks[3].pieces.values")
        let request = refusal { spec in
            spec.kind = .data
            spec.mirrors = nil
            spec.pieces = PieceDigests(algorithm: .md5, length: 1, values: [String(repeating: "0", count: 32)])
        }
        #expect(request?.details["field"] == "tasks[3].pieces")
    }

    @Test func onlyPlainDownloadsHaveThem() {
        let refused = [
            refusal { $0.kind = .data }, refusal { $0.method = "POST" }, refusal { $0.url = "file:///f" },
            refusal {
                $0.method = "GET"
                $0.body = RequestBody()
                $0.body?.text = "x"
            }, refusal { $0.mirrors = Array(repeating: "https://m/f", count: Mirrors.limit + 1) },
        ]
        for error in refused { #expect(error?.details["field"] == "tasks[3].mirrors", "\(String(describing: error))") }
    }
}
