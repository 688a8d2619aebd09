import Foundation
import Logging
import Testing

@testable import DaemonSetup

@Suite struct DaemonLogHandlerTests {
    private let pipe = Pipe()

    private func destination(level: Logger.Level) -> LogDestination {
        LogDestination(
            sink: LogSink(descriptor: pipe.fileHandleForWriting.fileDescriptor), format: .journal, level: level)
    }

    private func written(_ destination: LogDestination) -> String {
        destination.sink.flush(milliseconds: 10000)
        return String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
    }

    @Test func theThresholdReachesLoggersThatExistAlready() {
        let destination = destination(level: .info)
        let logger = destination.logger()
        logger.debug("unseen")
        destination.level = .debug
        logger.debug("seen")
        #expect(written(destination) == "<7>seen\n")
    }

    @Test func whatIsAboveTheCeilingIsToldAsThat() {
        let destination = destination(level: .info)
        let logger = destination.logger(ceiling: .debug)
        logger.error("unseen")
        destination.level = .debug
        logger.error("seen")
        #expect(written(destination) == "<7>seen\n")
    }

    @Test func fieldsOfTheMessageWinOverThoseOfTheLogger() {
        let destination = destination(level: .info)
        var logger = destination.logger()
        logger[metadataKey: "task"] = "1"
        logger[metadataKey: "owner"] = "1000"
        logger.info("started", metadata: ["task": "2"])
        #expect(written(destination) == "<6>started owner=1000 task=2\n")
    }
}
