import Testing
import TransferModel

@testable import TransferCore

struct TusFieldsTests {
    @Test func capabilitiesAreLists() {
        let known = TusCapabilities(
            head(
                204,
                ["Tus-Extension": "creation, Checksum", "Tus-Max-Size": "1000", "Tus-Checksum-Algorithm": "md5,sha1"]))
        #expect(known.extensions == ["creation", "checksum"])
        #expect(known.longestUpload == 1000)
        #expect(known.checksumAlgorithms == ["md5", "sha1"])
        #expect(TusCapabilities(head(204)).longestUpload == nil)
    }
}
