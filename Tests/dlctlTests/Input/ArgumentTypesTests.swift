import Testing
import TransferModel
import TransferRPC

@testable import dlctl

@Suite struct ArgumentTypesTests {
    @Test func headersKeepTheirValue() {
        #expect(HeaderArgument(argument: "Accept: text/html")?.field == HeaderField("Accept", "text/html"))
        #expect(HeaderArgument(argument: "X-A:b:c")?.field == HeaderField("X-A", "b:c"))
        #expect(HeaderArgument(argument: "X-Empty:")?.field == HeaderField("X-Empty", ""))
    }

    @Test(arguments: ["", ":", ": x", "No colon", "A B: c", "Ä: x", "X: a\r\nY: b", "X: a\nb", "X: a\0", "X\t: y"])
    func headersThatCouldSplitARequestAreRefused(text: String) {
        #expect(HeaderArgument(argument: text) == nil)
    }

    @Test(arguments: [
        ("Authorization: Basic s3cret\nX: y", "the value of 'Authorization' has a line break"),
        ("Authorization:s3cret\0", "the value of 'Authorization' has a line break"),
        ("Authorization Basic s3cret", "'Authorization…' is not 'Name: value'"),
        (": s3cret", "'…' is not 'Name: value'"),
        ("nonsense", "'nonsense' is not 'Name: value'"), ("a/b: s3cret", "'a/b…' is not 'Name: value'"),
    ])
    func complaintsRepeatNoValue(text: String, complaint: String) {
        #expect(HeaderArgument.complaint(text).hasPrefix("-H: " + complaint))
        #expect(!HeaderArgument.complaint(text).contains("s3cret"))
    }

    @Test func checksumsTakeTheUsualSpellings() {
        let value = String(repeating: "ab", count: 32)
        let expected = Checksum(algorithm: .sha256, value: value)
        for text in ["sha-256:\(value)", "sha256:\(value)", "SHA-256:\(value.uppercased())", "sha-256=\(value)"] {
            #expect(Checksum(argument: text) == expected)
        }
        for algorithm in DigestAlgorithm.allCases {
            let hex = String(repeating: "0", count: algorithm.hexLength)
            #expect(Checksum(argument: "\(algorithm.rawValue):\(hex)")?.algorithm == algorithm)
        }
    }

    @Test(arguments: [
        "", "sha-256", "sha-256:", "sha-256:abc", "crc32:00000000", "md5:\(String(repeating: "g", count: 32))",
    ])
    func wrongChecksumsAreRefused(text: String) {
        #expect(Checksum(argument: text) == nil)
    }

    @Test func priorities() {
        #expect(TaskPriority(argument: "low") == .low)
        #expect(TaskPriority(argument: "0.6") == TaskPriority(0.6))
        for text in ["", "urgent", "-0.1", "1.1", "nan"] { #expect(TaskPriority(argument: text) == nil) }
    }

    @Test func ownersHaveNamesAndNumbers() {
        #expect(OwnerScope(argument: "root") == .user(UserID(0)))
        #expect(OwnerScope(argument: "1000") == .user(UserID(1000)))
        for text in ["all", "*"] { #expect(OwnerScope(argument: text) == .everyone) }
        for text in ["", "no such user"] { #expect(OwnerScope(argument: text) == nil) }
    }

    @Test func identifiersArePositive() {
        #expect(TaskID(argument: "12") == TaskID(12))
        for text in ["0", "-1", "x", "", "1.0", "99999999999999999999"] { #expect(TaskID(argument: text) == nil) }
    }
}
