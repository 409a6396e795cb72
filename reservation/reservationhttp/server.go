package reservationhttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"rowmill/internal/httpedge"
	"rowmill/internal/telemetry"
	"rowmill/reservation"
)

// Config is what a server needs.
type Config struct {
	Store   reservation.Store
	Coupons Coupons      // nil: there are no coupon prices here, nor a path for them
	Token   string       // of the service that may call; "" lets nobody in
	Logger  *slog.Logger // nil: nothing is logged

	// WriteTimeout is how long a caller may take to accept a piece of an answer
	// before its connection is cut and the statement behind it ended. 0: 30 s.
	WriteTimeout time.Duration

	Capacity Capacity
	OnShed   func(class string) // is told of each call that is turned away; nil: nobody is. Must not block

	Tracer         *telemetry.Tracer                                      // nil: requests are not recorded
	Answered       func(operation string, status int, took time.Duration) // nil: requests are not counted
	PageStatements func(n int64)                                          // of each page of rows; nil: not counted
}

type server struct {
	hooks
	tracer       *telemetry.Tracer
	store        reservation.Store
	coupons      Coupons
	token        httpedge.Token
	logger       *slog.Logger
	writeTimeout time.Duration
}

// NewServer returns the API. It starts no goroutine; the caller gives it a
// listener and shuts it down.
func NewServer(config Config) *echo.Echo {
	s := &server{
		hooks:        hooks{config.Answered, config.PageStatements},
		tracer:       config.Tracer,
		store:        config.Store,
		coupons:      config.Coupons,
		token:        httpedge.NewToken(config.Token),
		logger:       cmp.Or(config.Logger, slog.New(slog.DiscardHandler)),
		writeTimeout: cmp.Or(config.WriteTimeout, 30*time.Second),
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.fail
	e.Use(s.observe, middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisableErrorHandler: true, // observe hands the error on
		DisableStackAll:     true,
		LogErrorFunc:        s.panicked,
	}), s.authorize, middleware.BodyLimit(strconv.Itoa(maxRequest)))
	e.GET(pathLive, func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	e.POST(pathSnapshot, s.snapshot, config.gate(ClassSnapshots, config.Capacity.Snapshots, DefaultSnapshots).admit)
	e.POST(pathBatch, s.batch, config.gate(ClassPages, config.Capacity.Pages, DefaultPages).admit)
	reads := config.gate(ClassReads, config.Capacity.Reads, DefaultReads)
	e.POST(pathList, s.list, reads.admit)
	e.GET(pathFields, s.fields)
	if s.coupons != nil {
		e.POST(pathCoupons, s.couponPrices, reads.admit)
	}
	return e
}
