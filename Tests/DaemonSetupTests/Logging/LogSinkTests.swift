import Foundation
import Glibc
import Testing

@testable import DaemonSetup

@Suite struct LogSinkTests {
    @Test func linesArriveInOrder() throws {
        let pipe = Pipe()
        let sink = LogSink(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        for index in 0..<100 { sink.write("line \(index)\n") }
        sink.flush(milliseconds: 10000)
        let text = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        #expect(text == (0..<100).map { "line \($0)\n" }.joined())
    }

    /// A reader that stops must cost lines, but no time: `write` returns, and the number of lost lines is reported
    /// afterwards.
    @Test func aReaderThatStopsCostsLinesAndIsToldOfThem() throws {
        let pipe = Pipe()
        let sink = LogSink(descriptor: pipe.fileHandleForWriting.fileDescriptor, limit: 4096)
        let line = String(repeating: "x", count: 1023) + "\n"
        // The pipe holds 64 KiB, the sink 4 KiB, and the thread what it has taken. Most of these lines are dropped.
        for _ in 0..<1000 { sink.write(line) }
        var text = ""
        while !text.contains("log lines were dropped") {
            let data = pipe.fileHandleForReading.availableData
            try #require(!data.isEmpty)
            text += String(decoding: data, as: UTF8.self)
        }
        #expect(text.utf8.count < 200_000)
    }
}
