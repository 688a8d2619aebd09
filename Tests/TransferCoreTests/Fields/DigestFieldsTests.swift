import Testing
import TransferModel

@testable import TransferCore

struct DigestFieldsTests {
    private let md5 = "AAECAwQFBgcICQoLDA0ODw=="
    private let md5Hex = "000102030405060708090a0b0c0d0e0f"
    private let sha256 = "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
    private let sha256Hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

    private func parse(_ fields: KeyValuePairs<String, String>) -> [DigestAlgorithm: String] {
        DigestFields.parse(fields.map { HeaderField($0.key, $0.value) })
    }

    @Test func reprDigestIsADictionaryOfBytes() {
        #expect(parse(["Repr-Digest": "sha-256=:\(sha256):"]) == [.sha256: sha256Hex])
        #expect(
            parse(["repr-digest": "md5=:\(md5):;q=1, sha-256=:\(sha256): ;x"]) == [.sha256: sha256Hex, .md5: md5Hex])
        #expect(parse(["Repr-Digest": "sha-256=:\(sha256):", "Repr-Digest": "md5=:\(md5):"]).count == 2)
    }

    @Test(arguments: [
        "sha-256=\"x\"", "sha-256=:AAAA:", "sha-256=:!!:", "sha-999=:AAAA:", "sha-256", "", "=::", "sha-256=:",
    ])
    func malformedReprDigestsAreIgnored(_ text: String) {
        #expect(parse(["Repr-Digest": text]).isEmpty)
    }

    @Test func oldDigest() {
        #expect(parse(["Digest": "SHA-256=\(sha256),MD5=\(md5)"]) == [.sha256: sha256Hex, .md5: md5Hex])
        #expect(
            parse(["Digest": "SHA=2jmj7l5rSw0yVb/vlWAYkK/YBwk="]) == [.sha1: "da39a3ee5e6b4b0d3255bfef95601890afd80709"]
        )
    }

    @Test func amazonOnlyForWholeObjects() {
        #expect(
            parse(["x-amz-checksum-sha256": sha256, "x-amz-checksum-type": "FULL_OBJECT"]) == [.sha256: sha256Hex])
        #expect(parse(["x-amz-checksum-sha256": sha256, "x-amz-checksum-type": "COMPOSITE"]).isEmpty)
        #expect(parse(["x-amz-checksum-sha256": sha256]).isEmpty)
    }

    @Test func google() {
        #expect(parse(["x-goog-hash": "crc32c=AAAAAA==,md5=\(md5)"]) == [.md5: md5Hex])
        #expect(parse(["x-goog-hash": "crc32c=AAAAAA==", "x-goog-hash": "md5=\(md5)"]) == [.md5: md5Hex])
    }

    /// "Decompressive transcoding": the server decodes an object that is stored compressed for requests that ask for
    /// identity.
    @Test func googleTellsTheHashOfWhatItStores() {
        let stored = ("x-goog-hash", "md5=\(md5)")
        #expect(parse(["x-goog-stored-content-encoding": "gzip", stored.0: stored.1]).isEmpty)
        #expect(
            parse(["X-Goog-Stored-Content-Encoding": "gzip", "Content-Encoding": "gzip", stored.0: stored.1])
                == [.md5: md5Hex])
        #expect(parse(["x-goog-stored-content-encoding": "identity", stored.0: stored.1]) == [.md5: md5Hex])
    }

    @Test func theMoreTrustedSourceCounts() {
        let other = "BBECAwQFBgcICQoLDA0ODw=="
        #expect(parse(["x-goog-hash": "md5=\(other)", "Repr-Digest": "md5=:\(md5):"]) == [.md5: md5Hex])
    }

    @Test func contentMD5DescribesAMessageOnly() {
        #expect(parse(["Content-MD5": md5, "Content-Digest": "md5=:\(md5):"]).isEmpty)
    }

    @Test func eachFieldIsEnough() {
        func zeros(_ count: Int) -> String { String(repeating: "A", count: count) }
        let (md5, sha, sha256) = (zeros(22), zeros(27), zeros(43))
        let fields = [
            HeaderField("Repr-Digest", "sha-256=:\(sha256)=:"), HeaderField("Digest", "SHA-256=\(sha256)="),
            HeaderField("x-amz-checksum-sha256", "\(sha256)="), HeaderField("X-Amz-Checksum-SHA1", "\(sha)="),
            HeaderField("x-goog-hash", "md5=\(md5)=="),
        ]
        for field in fields {
            let answer = [HeaderField("Date", "x"), field, HeaderField("x-amz-checksum-type", "FULL_OBJECT")]
            #expect(DigestFields.parse(answer).count == 1, "\(field.name)")
        }
    }
}
