import Testing
import TransferModel

@testable import TransferCore

struct RequestBodiesTests {
    private func payload(_ text: String?, _ base64: String?, _ file: String?, open: Bool = false) throws -> Payload {
        var body = RequestBody()
        (body.text, body.base64, body.file) = (text, base64, file)
        return try Payload(body, source: open ? identity(9) : nil)
    }

    @Test func eachFormIsRead() throws {
        #expect(try Payload(nil, source: nil) == .none)
        #expect(try payload("é", nil, nil) == .bytes([0xC3, 0xA9]))
        #expect(try payload(nil, "AQI=", nil) == .bytes([1, 2]))
        #expect(try payload(nil, nil, "/f", open: true) == .source(offset: 0, length: 9))
        #expect(try payload("copied", nil, nil, open: true) == .source(offset: 0, length: 9))
    }

    @Test func exactlyOneIsTaken() {
        #expect(throws: TransferError.self) { try payload(nil, nil, nil) }
        #expect(throws: TransferError.self) { try payload("a", "AQI=", nil) }
        #expect(throws: TransferError.self) { try payload(nil, "?", nil) }
        #expect(throws: TransferError.self) { try payload(nil, nil, "/f") }
    }

    @Test func downloadsSendFiles() throws {
        var prepared = request { spec in
            spec.body = RequestBody()
            spec.body?.file = "/query.json"
            spec.headers = [HeaderField("Content-Type", "application/json")]
        }
        prepared.source = identity(2 << 20)
        let exchange = try Steps<Arrival>(prepared).exchange
        #expect(exchange.kind == .download)
        #expect(exchange.method == "POST")
        #expect(exchange.payload == .source(offset: 0, length: .mebibytes(2)))
        #expect(exchange.header("Content-Type") == "application/json")
    }
}
