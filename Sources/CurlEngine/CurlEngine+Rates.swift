import TransferModel

/// Rate limits. All take effect on running transfers at once; 0 removes a limit.
extension CurlEngine {
    package func setRateLimits(global rate: ByteRate) { reactor.post(.globalRate(rate, .receiving)) }
    package func setRateLimit(session: SessionKey, _ rate: ByteRate) {
        reactor.post(.sessionRate(session, rate, .receiving))
    }
    /// Stays until it is set to 0, across the task's exchanges.
    package func setRateLimit(task: TaskID, _ rate: ByteRate) { reactor.post(.taskRate(task, rate, .receiving)) }

    package func setUploadRateLimits(global rate: ByteRate) { reactor.post(.globalRate(rate, .sending)) }
    package func setUploadRateLimit(session: SessionKey, _ rate: ByteRate) {
        reactor.post(.sessionRate(session, rate, .sending))
    }
    /// Stays until it is set to 0, across the task's exchanges.
    package func setUploadRateLimit(task: TaskID, _ rate: ByteRate) { reactor.post(.taskRate(task, rate, .sending)) }
}
