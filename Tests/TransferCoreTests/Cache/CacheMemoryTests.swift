import Testing
import TransferModel

@testable import TransferCore

struct CacheMemoryTests {
    private func request(_ url: String, _ headers: [(String, String)] = []) throws -> CacheRequest {
        var exchange = Exchange(url: url, judge: CaptureJudge())
        exchange.kind = .request
        exchange.headers = headers.map { HeaderField($0.0, $0.1) }
        return try #require(CacheRequest(exchange, .useProtocolCachePolicy))
    }

    private func answer(
        _ body: Int = 0, selection: String = "accept-encoding", credentials: String? = nil, at time: Int64 = 0
    ) -> CachedAnswer {
        CachedAnswer(
            response: StoredResponse(
                status: 200, headers: [HeaderField("A", "b")], requestTime: time, responseTime: time,
                selection: CacheSelection(text: selection)),
            body: [UInt8](repeating: 1, count: body), credentials: credentials)
    }

    @Test func theLeastRecentlyUsedGoes() throws {
        var memory = CacheMemory()
        let size = answer(100).size("http://0/")
        for number in 0..<3 { memory.put(answer(100), "http://\(number)/", capacity: 3 * size) }
        #expect(memory.bytes == 3 * size && memory.count == 3)
        #expect(try memory.find(request("http://0/")) != nil)
        memory.put(answer(100), "http://3/", capacity: 3 * size)
        #expect(try memory.find(request("http://1/")) == nil)
        for number in [0, 2, 3] { #expect(try memory.find(request("http://\(number)/")) != nil) }
        #expect(memory.bytes == 3 * size && memory.count == 3)
    }

    /// There is one answer for the same requests, and the size of the old one is subtracted.
    @Test func aNewAnswerReplacesTheOldOne() throws {
        var memory = CacheMemory()
        for round in 0..<1000 { memory.put(answer(round % 7, at: Int64(round)), "http://a/", capacity: 1 << 20) }
        #expect(memory.count == 1 && memory.bytes == answer(999 % 7).size("http://a/"))
        #expect(try memory.find(request("http://a/"))?.response.responseTime == 999)
        #expect(memory.remove("http://a/") == 1 && memory.bytes == 0 && memory.count == 0)
    }

    @Test func variantsOfOneURLAreBounded() throws {
        var memory = CacheMemory()
        for number in 0..<40 {
            memory.put(answer(selection: "accept-encoding\nx: \(number)"), "http://a/", capacity: 1 << 20)
        }
        #expect(memory.count == Bounds.cacheVariants)
        #expect(try memory.find(request("http://a/", [("X", "39")])) != nil)
        #expect(try memory.find(request("http://a/", [("X", "0")])) == nil)
    }

    @Test func answersAreForTheSameCredentials() throws {
        var memory = CacheMemory()
        let credentials = try request("http://a/", [("Authorization", "Basic a")]).credentials
        memory.put(answer(credentials: credentials), "http://a/", capacity: 1 << 20)
        #expect(try memory.find(request("http://a/")) == nil)
        #expect(try memory.find(request("http://a/", [("Authorization", "Basic b")])) == nil)
        #expect(try memory.find(request("http://a/", [("Authorization", "Basic a")])) != nil)
    }

    @Test func answersAreRemovedByTime() throws {
        var memory = CacheMemory()
        for time in [10, 20, 30] as [Int64] { memory.put(answer(at: time), "http://\(time)/", capacity: 1 << 20) }
        #expect(memory.remove(since: 20) == 2)
        #expect(try memory.find(request("http://10/")) != nil)
        #expect(memory.count == 1)
    }

    /// A hundred thousand operations in random order give the same content as a plain list.
    @Test func itDoesWhatAListWould() throws {
        var memory = CacheMemory()
        var list: [String] = []
        var seed: UInt64 = 1
        let size = answer(10).size("http://00/")
        for _ in 0..<20_000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let url = "http://\(10 + (seed >> 33) % 40)/"
            let isKnown = list.contains(url)
            list.removeAll { $0 == url }
            if seed >> 60 < 8 {
                memory.put(answer(10), url, capacity: 20 * size)
                list.append(url)
                if list.count > 20 { list.removeFirst() }
            } else {
                #expect(try (memory.find(request(url)) != nil) == isKnown)
                if isKnown { list.append(url) }
            }
        }
        #expect(memory.count == list.count && memory.bytes == list.count * size)
    }
}
