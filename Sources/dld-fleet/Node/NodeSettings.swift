/// What the node's file says about its work (contract, section 3). The names of files and of the database are elsewhere.
struct NodeSettings: Hashable, Sendable {
    var name = ""
    /// Jobs leased at once.
    var capacity = 16
    var labels: [String] = []
    /// How long the table keeps a job for this node after a renewal.
    var lease = Duration.seconds(60)
    /// At most a third of `lease`.
    var renew = Duration.seconds(20)
    var poll = Duration.seconds(5)
    /// False: no notifications, for poolers in transaction mode.
    var listen = true
    /// The least time between two stored values of one job's progress.
    var progressInterval = Duration.seconds(5)
    var drainLimit = Duration.seconds(300)
    /// A local task that waits for network, host or disk for this long leaves the node.
    var handBackAfter = Duration.seconds(60)
    /// `retry.attempts` of local tasks.
    var localAttempts = 3
    var backoff = Backoff()
    var policy = Policy()

    /// How long before the end of a lease tasks of limited hosts are paused, so that the pause is done when it ends.
    var pauseMargin: Duration { lease / 20 }
}
