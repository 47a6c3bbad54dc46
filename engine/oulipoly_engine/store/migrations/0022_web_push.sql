-- Where browsers are told by web push (RFC 8030), one place a device; addresses and keys are the browser's own.
CREATE TABLE web_subscriptions (
    device_id TEXT PRIMARY KEY,
    endpoint TEXT NOT NULL UNIQUE,
    p256dh TEXT NOT NULL,
    auth TEXT NOT NULL
);

-- The token of a notice that was sent to one device is worth nothing without that device.
ALTER TABLE web_devices ADD COLUMN owner_id TEXT;
