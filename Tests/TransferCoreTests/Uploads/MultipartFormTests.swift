import Testing
import TransferModel

@testable import TransferCore

struct MultipartFormTests {
    private func form(_ change: (inout TaskSpec) -> Void = { _ in }) throws -> (
        type: String?, text: String, payload: Payload
    ) {
        let exchange = try Stepper(uploadRequest("multipart", size: 3, change: change)).exchange
        let bytes = ScriptedUploadServer.bytes(exchange.payload, Array("a\nb".utf8))
        return (exchange.header("Content-Type"), String(decoding: bytes, as: UTF8.self), exchange.payload)
    }

    @Test func theBodyIsWhatRFC7578Says() throws {
        let form = try form {
            $0.formField = "upload"
            $0.formFields = ["z": "last", "a": "é"]
            $0.contentType = "image/png"
        }
        #expect(form.type == "multipart/form-data; boundary=dld-nonce")
        #expect(
            form.text == """
                --dld-nonce\r\nContent-Disposition: form-data; name="a"\r\n\r\né\r\n\
                --dld-nonce\r\nContent-Disposition: form-data; name="z"\r\n\r\nlast\r\n\
                --dld-nonce\r\nContent-Disposition: form-data; name="upload"; filename="fox.txt"\r\n\
                Content-Type: image/png\r\n\r\na\nb\r\n--dld-nonce--\r\n
                """)
        #expect(form.payload.length == ByteCount(Int64(form.text.utf8.count)))
    }

    @Test func fieldAndTypeHaveDefaults() throws {
        let text = try form().text
        #expect(text.contains("name=\"file\"; filename=\"fox.txt\""))
        #expect(text.contains("Content-Type: text/plain\r\n"))
    }

    @Test func namesCannotBreakOut() throws {
        let text = try form {
            $0.formField = "a\"\r\nX: y"
            $0.fileName = "naïve \"name\"\n.bin"
        }.text
        #expect(text.contains("name=\"a%22%0D%0AX: y\""))
        #expect(text.contains("filename=\"naïve %22name%22%0A.bin\""))
        #expect(text.contains("Content-Type: application/octet-stream"))
    }

    @Test func theCallersTypeIsReplaced() throws {
        #expect(
            try form { $0.headers = [HeaderField("Content-Type", "text/plain")] }.type?.hasPrefix("multipart/") == true)
    }

    @Test func boundariesDiffer() {
        let nonces = Set((0..<50).map { _ in StrategyRequest.randomNonce() })
        #expect(nonces.count == 50)
        #expect(nonces.allSatisfy { $0.utf8.count <= 60 && $0.allSatisfy { $0.isLetter || $0.isNumber } })
    }
}
