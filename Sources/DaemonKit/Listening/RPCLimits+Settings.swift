import DaemonSetup
import JSONRPC
import TransferModel

extension RPCLimits {
    /// Combines the limits of the protocol with those that the configuration sets.
    init(_ settings: DaemonSettings) {
        self.init()
        line = Bounds.line
        longLine = Bounds.longLine
        longRequests = Bounds.longRequests
        batch = Bounds.batch
        inFlight = Bounds.requestsInFlight
        outgoing = Bounds.waitingAnswers
        outgoingPerUser = Bounds.waitingAnswersOfUser
        laterLine = Bounds.waitingEvent
        unfinishedLines = Bounds.unfinishedLines
        unfinishedLinesPerUser = Bounds.unfinishedLinesOfUser
        connections = settings.maximumConnections
        connectionsPerUser = settings.maximumConnectionsPerUser
    }
}
